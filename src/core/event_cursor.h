// EventCursor: reads a queue's events in order, and notices when the store went backwards.
//
// After a loss the numbers of events are used a second time, so a number alone does not tell where one is. Each read
// therefore begins with the event that was read last: if its number has another event by now, or none that it should
// have, the store went backwards.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "drover/task_queue.h"

namespace drover {

// Events that were read, or could have been, and are gone.
struct EventGap {
  std::int64_t after = 0;  // where the reader was
  std::int64_t seq = 0;    // those after this number come next

  bool operator==(const EventGap&) const = default;
};
[[nodiscard]] JsonText to_json(const EventGap& gap);

class EventCursor {
 public:
  struct News {
    std::optional<EventGap> went_back = {};  // before the events
    std::vector<Event> events = {};
    bool has_more = false;
  };

  explicit EventCursor(std::int64_t after = 0) : after_(after) {}

  // What came since, at most `limit` events; one more is read, so that it must be less than a page may have. Always of
  // the same queue, and as the same caller. After a loss it goes on with the first event that is not older than the
  // last one that was read.
  [[nodiscard]] Result<News> next(TaskQueue& queue, int limit);
  [[nodiscard]] std::int64_t after() const { return after_; }

 private:
  enum class LogState : std::uint8_t { kSame, kWentBack };

  [[nodiscard]] Result<LogState> log_state(TaskQueue& queue, const std::vector<Event>& page) const;
  [[nodiscard]] Result<std::int64_t> last_kept(TaskQueue& queue) const;

  std::int64_t after_;
  std::optional<Event> last_;  // the event number after_; none if it was never read
};

// The number before the first event at `from` or later, between `low` and `high`, by O(log n) reads of one event. Times
// of events may run backwards a little where a clock was set; then the answer is as good as the times are.
using ReadEvents = std::function<Result<std::vector<Event>>(std::int64_t after, int limit)>;
[[nodiscard]] Result<std::int64_t> find_event_before(Time from, std::int64_t low, std::int64_t high,
                                                     const ReadEvents& read);

}  // namespace drover
