#include "sim/conversation_watch.h"

#include <fmt/format.h>

#include "core/conversation.h"
#include "engine/conversations.h"
#include "support/must.h"

namespace drover::sim {
namespace {

constexpr std::string_view kConversationCheck = "T26 conversations";

}  // namespace

std::optional<Wrong> ConversationWatch::answered(int dequeue, const std::optional<QueueBatch>& batch) {
  unanswered_.erase(dequeue);
  if (!batch) return std::nullopt;
  for (const QueueItem& item : batch->items) {
    const auto [taken, is_first] = taken_by_.emplace(item.item.item_key, dequeue);
    if (!is_first && taken->second != dequeue) {
      return Wrong{std::string(kConversationCheck), fmt::format("item {} was handed out twice, to dequeues {} and {}",
                                                                item.item.item_key, taken->second, dequeue)};
    }
  }
  return std::nullopt;
}

std::optional<Wrong> ConversationWatch::check_rest(Store& store) const {
  if (!unanswered_.empty() || may_be_late_) return std::nullopt;  // they may have taken what is missing
  std::set<std::string> there;
  if (const auto stored = test::must(store.read_conversation(kSimConversation))) {
    for (const ItemHead& item : test::must(parse_conversation(*stored)).items) {
      if (item.place == ItemHead::Place::kQueued) there.insert(item.item.item_key);
    }
  }
  for (const std::string& key : acknowledged_) {
    if (!there.contains(key) && !taken_by_.contains(key)) {
      return Wrong{std::string(kConversationCheck), fmt::format("item {} was taken in, and is lost", key)};
    }
  }
  return std::nullopt;
}

}  // namespace drover::sim
