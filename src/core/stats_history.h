// What happened over time: the event log folded into minutes and hours, as one document that a store keeps.
//
// A minute is kept for a day, an hour for 30 days. Durations are counted by their size, so that minutes add up to
// hours, and a bucket is as large after a million tasks as after a hundred. The document stays below 4 MiB; that of a
// busy fleet has about 400 KiB.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "drover/error.h"
#include "drover/stats.h"
#include "drover/task.h"

namespace drover {

// How often a duration was how long, to 19 %: four sizes for each doubling, up to 24 days.
class DurationCounts {
 public:
  void add(Millis took);
  void add(const DurationCounts& other);
  [[nodiscard]] std::optional<Millis> quantile(int percent) const;
  [[nodiscard]] const std::map<int, std::int64_t>& by_size() const { return by_size_; }
  // What by_size() gave. False: there is no such size, or the number is not above 0.
  [[nodiscard]] bool put(std::int64_t size, std::int64_t count);

  bool operator==(const DurationCounts&) const = default;

 private:
  std::map<int, std::int64_t> by_size_;
};

struct HistoryBucket {
  StatsBucket counts{};  // but for its time and its durations
  DurationCounts waits{};
  DurationCounts runs{};

  void add(const HistoryBucket& other);
  bool operator==(const HistoryBucket&) const = default;
};

// A wait that ended, or a run.
struct TimedSpan {
  Time ended_at{};
  Millis took{};
};

class HistoryDocument {
 public:
  [[nodiscard]] static Result<HistoryDocument> parse(std::string_view text);
  [[nodiscard]] JsonText to_json() const;

  // Events up to this number are counted.
  [[nodiscard]] std::int64_t folded() const { return folded_; }
  // The log has gone back to before what was counted: what comes next is counted from there.
  void go_back_to(std::int64_t seq) { folded_ = std::min(folded_, seq); }
  // The events that were counted have got other numbers, larger by that.
  void renumber(std::int64_t by) { folded_ = std::max<std::int64_t>(folded_ + by, 0); }
  // The next event; those with a number that was counted do not count again.
  void fold(const Event& event);
  void add_wait(const TimedSpan& wait) { bucket_of(wait.ended_at).waits.add(wait.took); }
  void add_run(const TimedSpan& run) { bucket_of(run.ended_at).runs.add(run.took); }
  // Lets go of what is too old.
  void trim(Time now);

  // The last `count` buckets, with the one that `now` is in.
  [[nodiscard]] StatsHistory view(HistoryStep step, int count, Time now) const;

  bool operator==(const HistoryDocument&) const = default;

 private:
  using Buckets = std::map<std::int64_t, HistoryBucket>;  // by the number of the minute or hour since 1970

  HistoryBucket& bucket_of(Time at);
  [[nodiscard]] Buckets hours() const;

  std::int64_t folded_ = 0;
  Buckets minutes_;
  Buckets older_;  // hours that have no minutes any more
};

}  // namespace drover
