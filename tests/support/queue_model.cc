#include "support/queue_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace drover::test {
namespace {

using Kind = QueueStep::Kind;

constexpr std::array<std::string_view, 6> kKinds{"message",      "task_notification", "cron_prompt",
                                                 "mod_continue", "approval_result",   "overlay_action"};
constexpr std::size_t kMerged = 4;  // the first of them

bool may_be_merged(const NewQueueItem& item) {
  return std::find(kKinds.begin(), kKinds.begin() + kMerged, item.kind) != kKinds.begin() + kMerged;
}

bool has_same_scope(const NewQueueItem& one, const NewQueueItem& other) {
  return one.agent_id == other.agent_id && one.conversation_id == other.conversation_id;
}

NewQueueItem any_item(Rng& rng, std::int64_t number) {
  NewQueueItem item{
      .item_key = fmt::format("k{}", number), .kind = "message", .body = fmt::format(R"({{"n":{}}})", number)};
  if (rng.below(3) == 0) item.kind = kKinds.at(rng.below(kKinds.size()));
  if (rng.below(4) == 0) item.agent_id = "agent";
  if (rng.below(8) == 0) item.conversation_id = "talk";
  return item;
}

}  // namespace

QueueStep QueueModel::any_step(Rng& rng) {
  const std::uint64_t dice = rng.below(100);
  if (dice < 55) return {.kind = Kind::kAppend, .item = any_item(rng, next_seq_)};
  if (dice < 58 && last_was_taken_) return {.kind = Kind::kAppendAgain, .item = last_};
  if (dice < 76) return {.kind = Kind::kDequeue};
  if (dice < 82) return {.kind = Kind::kConsume, .n = static_cast<int>(rng.below(6))};
  if (dice < 90) {
    const auto most = static_cast<std::uint64_t>(next_seq_) + 2;  // there never was such an item, or not any more
    const bool is_there = !waiting_.empty() && rng.below(4) != 0;
    const std::int64_t seq =
        is_there ? waiting_.at(rng.below(waiting_.size())).seq : static_cast<std::int64_t>(1 + rng.below(most));
    return {.kind = Kind::kRemove, .id = item_id(seq)};
  }
  return {.kind = dice < 98 ? Kind::kBlock : Kind::kClear};
}

std::string QueueModel::apply(const QueueStep& step) {
  switch (step.kind) {
    case Kind::kAppend:
      return append(step.item);
    case Kind::kAppendAgain:
      return "";
    case Kind::kDequeue:
      return take(turn());
    case Kind::kConsume:
      return take(std::min(waiting_.size(), static_cast<std::size_t>(std::max(step.n, 0))));
    case Kind::kRemove:
      return remove(step.id);
    case Kind::kClear: {
      const std::size_t n = waiting_.size();
      waiting_.clear();
      return fmt::format("cleared:{}", n);
    }
    case Kind::kBlock:
      return waiting_.empty() ? "" : fmt::format("blocked:{}", waiting_.size());
  }
  return "unknown";
}

std::string QueueModel::append(const NewQueueItem& item) {
  const std::int64_t seq = next_seq_++;
  last_ = item;
  last_was_taken_ = std::cmp_less(waiting_.size(), limits_.hard_max_items);
  if (!last_was_taken_) return fmt::format("-q-{}:{}", seq, waiting_.size());
  std::string trace;
  if (std::cmp_greater_equal(waiting_.size(), limits_.max_items) && may_be_merged(item)) {
    const auto oldest = std::ranges::find_if(waiting_, may_be_merged, &Waiting::item);
    if (oldest != waiting_.end()) {
      trace = fmt::format("-q-{}:{} ", oldest->seq, waiting_.size());
      waiting_.erase(oldest);
    }
  }
  waiting_.push_back({seq, item});
  return trace + fmt::format("+q-{}:{}", seq, waiting_.size());
}

std::size_t QueueModel::turn() const {
  if (waiting_.empty()) return 0;
  const NewQueueItem& head = waiting_.front().item;
  if (!may_be_merged(head)) return 1;
  const auto stop = std::ranges::find_if(
      waiting_, [&](const Waiting& one) { return !may_be_merged(one.item) || !has_same_scope(one.item, head); });
  return static_cast<std::size_t>(stop - waiting_.begin());
}

std::string QueueModel::take(std::size_t n) {
  if (n == 0) return "";
  std::string ids;
  for (std::size_t i = 0; i < n; ++i) ids += fmt::format("{}q-{}", ids.empty() ? "" : " ", waiting_.at(i).seq);
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(n));
  return fmt::format("batch-{}[{}]:{}", next_batch_++, ids, waiting_.size());
}

std::string QueueModel::remove(const std::string& id) {
  const auto found = std::ranges::find_if(waiting_, [&](const Waiting& one) { return item_id(one.seq) == id; });
  if (found == waiting_.end()) return "";
  waiting_.erase(found);
  return fmt::format("x {}:{}", id, waiting_.size());
}

std::string QueueModel::waiting() const {
  std::string ids;
  for (const Waiting& one : waiting_) ids += fmt::format("q-{} ", one.seq);
  return ids;
}

std::string trace_of(const QueueStep& step, const ConversationReply& reply) {
  if (step.kind == Kind::kAppend || step.kind == Kind::kAppendAgain) {
    if (reply.replayed) return "";
    const std::string id = reply.id.value_or("none");
    if (reply.refused) return fmt::format("-{}:{}", id, reply.length);
    const std::string dropped = reply.dropped ? fmt::format("-{}:{} ", item_id(reply.dropped->seq), reply.length) : "";
    return dropped + fmt::format("+{}:{}", id, reply.length);
  }
  if (reply.batch) {
    std::string ids;
    for (const QueueItem& one : reply.batch->items) ids += (ids.empty() ? "" : " ") + item_id(one.seq);
    return fmt::format("{}[{}]:{}", reply.batch->batch_id, ids, reply.batch->queue_len_after);
  }
  if (reply.removed) return fmt::format("x {}:{}", item_id(reply.removed->seq), reply.length);
  if (step.kind == Kind::kClear) return fmt::format("cleared:{}", reply.cleared.size());
  if (step.kind == Kind::kBlock && reply.length > 0) return fmt::format("blocked:{}", reply.length);
  return "";
}

}  // namespace drover::test
