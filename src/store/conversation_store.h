// Conversations as stores keep them: texts under compare-and-set, which core/conversation.h reads and writes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/step.h"
#include "drover/conversation.h"

namespace drover {

struct StoredConversation {
  ConversationName name{};
  std::int64_t revision = 0;
  JsonText head = "{}";
  std::vector<std::pair<std::int64_t, JsonText>> items{};  // heads of items by number; lists leave them out
};

struct ConversationStep {
  ConversationName name{};
  std::int64_t expected_revision = 0;                      // 0: it must not be there
  std::optional<JsonText> head{};                          // none: the conversation goes, with all that it has
  std::vector<std::int64_t> removed{};                     // items that go, with their bodies
  std::vector<std::pair<std::int64_t, JsonText>> items{};  // heads that are written
  std::vector<std::pair<std::int64_t, JsonText>> bodies{};
  std::vector<std::int64_t> removed_bodies{};  // of items that stay
  std::vector<EventDraft> events{};            // of no task
};

enum class ConversationApplied : std::uint8_t {
  kDone,
  kConflict,   // its revision is another: read again, decide again
  kOwnerFull,  // it would be new, and its owner has kConversationsPerOwnerMax
};

// What a store offers; part of Store.
class ConversationStore {
 public:
  virtual ~ConversationStore() = default;

  [[nodiscard]] virtual Result<std::optional<StoredConversation>> read_conversation(const ConversationName& name) = 0;
  // In the order of numbers; nothing where there is no body.
  [[nodiscard]] virtual Result<std::vector<std::optional<JsonText>>> conversation_bodies(
      const ConversationName& name, std::span<const std::int64_t> numbers) = 0;
  // By owner and key, after a name; an empty one is before all. With an owner: of that one only.
  [[nodiscard]] virtual Result<std::vector<StoredConversation>> list_conversations(
      const std::optional<std::string>& owner, const ConversationName& after, int limit) = 0;
  [[nodiscard]] virtual Result<ConversationApplied> put_conversation(const ConversationStep& step) = 0;
};

}  // namespace drover
