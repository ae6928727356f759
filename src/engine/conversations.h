// ConversationQueue over a store: reads, lets core/conversation.h decide, and writes under compare-and-set.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "core/administration.h"
#include "core/conversation.h"
#include "store/store.h"

namespace drover {

class Engine;

class LocalConversations final : public ConversationQueue {
 public:
  // All outlive it.
  LocalConversations(Engine& engine, Store& store, Rng& rng) : engine_(engine), store_(store), rng_(rng) {}

  Result<ConversationsPage> conversations(const ConversationsQuery& query) override;
  Result<Conversation> conversation(const ConversationName& name, const ConversationItemsQuery& query) override;
  Result<ConversationReply> act(const ConversationName& name, const ConversationAct& act) override;

 private:
  Status fill_bodies(const ConversationName& name, ConversationChange& change);

  Engine& engine_;
  Store& store_;
  Rng& rng_;
};

// kStoreDamaged: it cannot be read; a repair makes of it what it can.
[[nodiscard]] Result<ConversationState> parse_conversation(const StoredConversation& stored);
[[nodiscard]] ConversationStep step_of(const ConversationState& before, const ConversationChange& change);

// Deletes conversations that have been empty since `until`; looks at `limit` of them after `after`, and moves that on,
// back to the start behind the last. Returns how many went.
[[nodiscard]] Result<int> forget_conversations(Store& store, Time until, int limit, ConversationName& after);

// What is wrong with the conversations of a store; if it is to be repaired, it is.
[[nodiscard]] Result<std::vector<Finding>> check_conversations(Store& store, FsckMode mode);

// Lines of a dump, from a cursor on, about a MiB of them.
[[nodiscard]] Result<DumpConversations> dump_conversations(Store& store, const std::optional<std::string>& cursor);

// Takes the lines back, in their order.
class ConversationImport {
 public:
  [[nodiscard]] Status take_head(const std::string& text, Store& store);
  [[nodiscard]] Status take_item(const std::string& text);
  // Writes the last one.
  [[nodiscard]] Status finish(Store& store);

 private:
  std::optional<ConversationState> state_;
  std::map<std::int64_t, JsonText> bodies_;
};

}  // namespace drover
