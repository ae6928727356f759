#include "core/stats_history.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/json.h"
#include "base/try.h"
#include "core/stats_json.h"
#include "core/usage.h"

namespace drover {
namespace {

constexpr Millis kMinute{60'000};
constexpr Millis kHour{3'600'000};
constexpr std::int64_t kMinutesPerHour = 60;
constexpr int kSizesPerDoubling = 4;
constexpr int kSizeMax = 31 * kSizesPerDoubling;
constexpr std::int64_t kNotReported = -1;

// Sizes are 0, 1, … where a duration of size s is at most 2^(s/4) ms.
int size_of(Millis took) {
  const auto millis = static_cast<double>(std::max<Millis::rep>(took.count(), 1));
  return std::clamp(static_cast<int>(std::ceil(std::log2(millis) * kSizesPerDoubling)), 0, kSizeMax);
}

// The middle of what has that size.
Millis duration_of(int size) {
  return Millis(std::llround(std::exp2((static_cast<double>(size) - 0.5) / kSizesPerDoubling)));
}

std::int64_t number_of(Time at, Millis step) {
  return at.time_since_epoch() / step;
}

void add(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& more) {
  if (more) sum = drover::sum(sum.value_or(0), *more);
}

void count_event(const Event& event, StatsBucket& counts) {
  const bool late = event.name == "task.deadline_passed";
  if (event.name == "task.enqueued") ++counts.enqueued;
  if (event.name == "task.claimed") ++counts.started;
  if (event.name == "task.retrying") ++counts.retried;
  if (event.name == "task.deferred") ++counts.deferred;
  if (event.name == "task.cancelled") ++counts.cancelled;
  if (event.name == "task.completed" || (late && event.state == TaskState::kCompleted)) ++counts.completed;
  if (event.name == "task.failed" || (late && event.state == TaskState::kFailed)) ++counts.failed;
}

// What the run that ended used, if the event says so.
void count_usage(const Event& event, StatsBucket& counts) {
  if (!event.data.contains("\"usage\"")) return;
  const auto data = json::parse(event.data);
  const json::Value* usage = data ? data->find("usage") : nullptr;
  if (usage == nullptr) return;
  if (const json::Value* tokens = usage->find("tokens")) add(counts.tokens, tokens->as_int());
  const json::Value* cost = usage->find("cost_usd");
  if (const auto* number = cost != nullptr ? cost->as_number() : nullptr) {
    add(counts.cost_micro_usd, dollars(number->text));
  }
}

// ---- JSON: a bucket is [number, enqueued, …, tokens, [size, count, …] of waits, the same of runs]

void write_counts(json::Writer& out, const DurationCounts& counts) {
  out.begin_array();
  for (const auto& [size, count] : counts.by_size()) out.number(size).number(count);
  out.end_array();
}

void write_buckets(json::Writer& out, const std::map<std::int64_t, HistoryBucket>& buckets) {
  out.begin_array();
  for (const auto& [number, bucket] : buckets) {
    const StatsBucket& counts = bucket.counts;
    out.begin_array();
    for (const std::int64_t value :
         {number, counts.enqueued, counts.started, counts.completed, counts.failed, counts.retried, counts.deferred,
          counts.cancelled, counts.cost_micro_usd.value_or(kNotReported), counts.tokens.value_or(kNotReported)}) {
      out.number(value);
    }
    write_counts(out, bucket.waits);
    write_counts(out, bucket.runs);
    out.end_array();
  }
  out.end_array();
}

std::unexpected<Error> unreadable() {
  return fail(ErrorCode::kStoreDamaged, "the document of the statistics cannot be read", "core.stats_history");
}

Status read_counts(const json::Value& value, DurationCounts& out) {
  const json::Value::Array* items = value.as_array();
  if (items == nullptr || items->size() % 2 != 0) return unreadable();
  for (std::size_t i = 0; i < items->size(); i += 2) {
    const auto size = (*items)[i].as_int();
    const auto count = (*items)[i + 1].as_int();
    if (!size || !count || !out.put(*size, *count)) return unreadable();
  }
  return {};
}

constexpr std::size_t kNumbers = 10;
constexpr std::size_t kBucketItems = kNumbers + 2;

Status read_bucket(const json::Value& value, std::map<std::int64_t, HistoryBucket>& out) {
  const json::Value::Array* items = value.as_array();
  if (items == nullptr || items->size() != kBucketItems) return unreadable();
  std::array<std::int64_t, kNumbers> numbers{};
  for (std::size_t i = 0; i < kNumbers; ++i) {
    const auto number = (*items)[i].as_int();
    if (!number || *number < kNotReported) return unreadable();
    numbers[i] = *number;
  }
  HistoryBucket& bucket = out[numbers[0]];
  bucket.counts = {.enqueued = numbers[1],
                   .started = numbers[2],
                   .completed = numbers[3],
                   .failed = numbers[4],
                   .retried = numbers[5],
                   .deferred = numbers[6],
                   .cancelled = numbers[7]};
  if (numbers[8] != kNotReported) bucket.counts.cost_micro_usd = numbers[8];
  if (numbers[9] != kNotReported) bucket.counts.tokens = numbers[9];
  TRY(read_counts((*items)[kNumbers], bucket.waits));
  return read_counts((*items)[kNumbers + 1], bucket.runs);
}

Status read_buckets(const json::Value* value, std::map<std::int64_t, HistoryBucket>& out) {
  const json::Value::Array* items = value != nullptr ? value->as_array() : nullptr;
  if (items == nullptr) return unreadable();
  for (const json::Value& item : *items) TRY(read_bucket(item, out));
  return {};
}

}  // namespace

void DurationCounts::add(Millis took) {
  ++by_size_[size_of(took)];
}

void DurationCounts::add(const DurationCounts& other) {
  for (const auto& [size, count] : other.by_size_) by_size_[size] += count;
}

bool DurationCounts::put(std::int64_t size, std::int64_t count) {
  if (size < 0 || size > kSizeMax || count <= 0) return false;
  by_size_[static_cast<int>(size)] = count;
  return true;
}

// The nearest rank.
std::optional<Millis> DurationCounts::quantile(int percent) const {
  std::int64_t all = 0;
  for (const auto& [size, count] : by_size_) all += count;
  if (all == 0) return std::nullopt;
  const std::int64_t rank = std::max<std::int64_t>((all * percent + 99) / 100, 1);
  std::int64_t seen = 0;
  for (const auto& [size, count] : by_size_) {
    seen += count;
    if (seen >= rank) return duration_of(size);
  }
  return duration_of(by_size_.rbegin()->first);
}

void HistoryBucket::add(const HistoryBucket& other) {
  const StatsBucket& more = other.counts;
  counts.enqueued += more.enqueued;
  counts.started += more.started;
  counts.completed += more.completed;
  counts.failed += more.failed;
  counts.retried += more.retried;
  counts.deferred += more.deferred;
  counts.cancelled += more.cancelled;
  drover::add(counts.cost_micro_usd, more.cost_micro_usd);
  drover::add(counts.tokens, more.tokens);
  waits.add(other.waits);
  runs.add(other.runs);
}

Result<HistoryDocument> HistoryDocument::parse(std::string_view text) {
  HistoryDocument history;
  if (text == "{}") return history;
  const auto value = json::parse(text);
  const json::Value* folded = value ? value->find("folded") : nullptr;
  const auto seq = folded != nullptr ? folded->as_int() : std::nullopt;
  if (!seq || *seq < 0) return unreadable();
  history.folded_ = *seq;
  TRY(read_buckets(value->find("minutes"), history.minutes_));
  TRY(read_buckets(value->find("hours"), history.older_));
  return history;
}

JsonText HistoryDocument::to_json() const {
  json::Writer out;
  out.begin_object().key("folded").number(folded_).key("minutes");
  write_buckets(out, minutes_);
  out.key("hours");
  write_buckets(out, older_);
  out.end_object();
  return std::move(out).take();
}

HistoryBucket& HistoryDocument::bucket_of(Time at) {
  return minutes_[number_of(at, kMinute)];
}

void HistoryDocument::fold(const Event& event) {
  if (event.seq <= folded_) return;
  folded_ = event.seq;
  if (event.task.is_nil()) return;
  HistoryBucket fresh;
  count_event(event, fresh.counts);
  count_usage(event, fresh.counts);
  if (fresh != HistoryBucket{}) bucket_of(event.at).add(fresh);
}

// Whole hours go: an hour has all of its minutes, or none.
void HistoryDocument::trim(Time now) {
  const std::int64_t first_hour = number_of(now - kHistoryMinutes * kMinute, kHour);
  const auto end = minutes_.lower_bound(first_hour * kMinutesPerHour);
  for (auto minute = minutes_.begin(); minute != end; ++minute) {
    older_[minute->first / kMinutesPerHour].add(minute->second);
  }
  minutes_.erase(minutes_.begin(), end);
  older_.erase(older_.begin(), older_.lower_bound(number_of(now, kHour) - kHistoryHours + 1));
}

HistoryDocument::Buckets HistoryDocument::hours() const {
  Buckets hours = older_;
  for (const auto& [minute, bucket] : minutes_) hours[minute / kMinutesPerHour].add(bucket);
  return hours;
}

StatsHistory HistoryDocument::view(HistoryStep step, int count, Time now) const {
  const Millis width = step == HistoryStep::kMinute ? kMinute : kHour;
  const std::int64_t last = number_of(now, width);
  const std::int64_t first = last - count + 1;
  const auto time_of = [&](std::int64_t number) { return Time(number * width); };
  StatsHistory history{.step = step, .from = time_of(first), .until = time_of(last + 1)};
  const Buckets buckets = step == HistoryStep::kMinute ? minutes_ : hours();
  for (auto bucket = buckets.lower_bound(first); bucket != buckets.upper_bound(last); ++bucket) {
    StatsBucket& shown = history.buckets.emplace_back(bucket->second.counts);
    shown.at = time_of(bucket->first);
    shown.waits = {.p50 = bucket->second.waits.quantile(50), .p95 = bucket->second.waits.quantile(95)};
    shown.runs = {.p50 = bucket->second.runs.quantile(50), .p95 = bucket->second.runs.quantile(95)};
  }
  return history;
}

// ---- as callers see it

namespace {

void write_optional(json::Writer& out, std::string_view name, const std::optional<std::int64_t>& number) {
  out.key(name);
  number ? out.number(*number) : out.null();
}

void write_duration(json::Writer& out, std::string_view name, const std::optional<Millis>& time) {
  write_optional(out, name, time ? std::optional<std::int64_t>(time->count()) : std::nullopt);
}

void write_bucket(json::Writer& out, const StatsBucket& bucket) {
  out.begin_object().key("at").string(format_time(bucket.at)).key("enqueued").number(bucket.enqueued);
  out.key("started").number(bucket.started).key("completed").number(bucket.completed);
  out.key("failed").number(bucket.failed).key("retried").number(bucket.retried);
  out.key("deferred").number(bucket.deferred).key("cancelled").number(bucket.cancelled);
  write_duration(out, "wait_p50_ms", bucket.waits.p50);
  write_duration(out, "wait_p95_ms", bucket.waits.p95);
  write_duration(out, "run_p50_ms", bucket.runs.p50);
  write_duration(out, "run_p95_ms", bucket.runs.p95);
  write_optional(out, "cost_micro_usd", bucket.cost_micro_usd);
  write_optional(out, "tokens", bucket.tokens);
  out.end_object();
}

}  // namespace

std::string to_json(const StatsHistory& history) {
  json::Writer out;
  out.begin_object().key("step_ms").number((history.step == HistoryStep::kMinute ? kMinute : kHour).count());
  out.key("from").string(format_time(history.from)).key("until").string(format_time(history.until));
  out.key("buckets").begin_array();
  for (const StatsBucket& bucket : history.buckets) write_bucket(out, bucket);
  out.end_array().end_object();
  return std::move(out).take();
}

}  // namespace drover
