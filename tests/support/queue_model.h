// What a conversation's queue is to do, said once more and as simply as possible: a model beside which the real ones
// are held. Traces are what callbacks tell: "+q-7:3" enqueued with 3 waiting, "-q-2:3" dropped, "batch-2[q-1 q-3]:0"
// dequeued, "x q-3:2" removed, "cleared:4", "blocked:3", and nothing if there is nothing to tell.
#pragma once

#include <string>
#include <vector>

#include "base/rng.h"
#include "drover/conversation.h"

namespace drover::test {

struct QueueStep {
  enum class Kind : std::uint8_t { kAppend, kAppendAgain, kDequeue, kConsume, kRemove, kClear, kBlock };
  Kind kind = Kind::kAppend;
  NewQueueItem item{};  // of kAppend; of kAppendAgain the one that was appended last
  int n = 0;            // of kConsume
  std::string id{};     // of kRemove
};

class QueueModel {
 public:
  explicit QueueModel(QueueLimits limits) : limits_(limits) {}

  // A step that says something about this queue as it is now.
  [[nodiscard]] QueueStep any_step(Rng& rng);
  // Does it, and returns the trace.
  std::string apply(const QueueStep& step);
  // The ids of what waits, in order.
  [[nodiscard]] std::string waiting() const;

 private:
  struct Waiting {
    std::int64_t seq = 0;
    NewQueueItem item{};
  };

  std::string append(const NewQueueItem& item);
  std::string take(std::size_t n);
  std::string remove(const std::string& id);
  [[nodiscard]] std::size_t turn() const;

  QueueLimits limits_;
  std::vector<Waiting> waiting_;
  NewQueueItem last_{};
  bool last_was_taken_ = false;
  std::int64_t next_seq_ = 1;
  std::int64_t next_batch_ = 1;
};

// The traces of what the rules answer.
[[nodiscard]] std::string trace_of(const QueueStep& step, const ConversationReply& reply);

}  // namespace drover::test
