#include "core/believed_time.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/planted_bug.h"
#include "base/try.h"

namespace drover {
namespace {

// A little back is no other boot, but the look of another process.
bool is_same_boot(const StoreClocks& before, const StoreClocks& after) {
  return before.boot == after.boot && before.steady - after.steady < kStepMin;
}

Millis steady_between(const StoreClocks& before, const StoreClocks& after) {
  return is_same_boot(before, after) ? std::max(Millis{0}, after.steady - before.steady) : Millis{0};
}

}  // namespace

Millis step_between(const StoreClocks& before, const StoreClocks& after) {
  const Millis step = after.wall - before.wall - steady_between(before, after);
  return std::chrono::abs(step) < kStepMin ? Millis{0} : step;
}

BelievedTime first_look(const StoreClocks& clocks, FirstLook kind) {
  BelievedTime first{.seen = clocks, .steady_since = clocks.steady};
  if (kind == FirstLook::kEmpty) first.now = clocks.wall;
  return first;
}

BelievedTime look(BelievedTime before, const StoreClocks& clocks, Millis kept_for) {
  const Millis step = step_between(before.seen, clocks);
  const Millis passed = steady_between(before.seen, clocks);
  const Time earliest = before.seen.wall + step;  // that the clock may have shown since it was set back
  BelievedTime next = std::move(before);
  if (step != Millis{0} || !is_same_boot(next.seen, clocks)) next.steady_since = next.doubted_since = clocks.steady;
  next.seen = clocks;
  if (step < Millis{0}) next.set_back_to = std::min(earliest, next.set_back_to.value_or(earliest));
  if (clocks.steady - next.doubted_since >= kept_for) next.set_back_to.reset();
  const bool is_steady = clocks.steady - next.steady_since >= std::min(kSteadyFor, kept_for);
  if (is_steady || planted(PlantedBug::kRetentionBelievesSteps)) {
    next.now = clocks.wall;
  } else if (next.now) {
    next.now = std::min(clocks.wall, *next.now + passed);
  }
  return next;
}

Time end_of_age(const BelievedTime& believed, Millis age) {
  if (!believed.now) return Time::min();
  return std::min(*believed.now - age, believed.set_back_to.value_or(Time::max()) - Millis{1});
}

// Milliseconds and not our usual text, which has no years beyond 9999: a clock may show any.
JsonText to_json(const BelievedTime& believed) {
  json::Writer out;
  const auto put = [&](std::string_view name, std::optional<Time> time) {
    out.key(name);
    time ? out.number(time->time_since_epoch().count()) : out.null();
  };
  out.begin_object();
  put("wall_ms", believed.seen.wall);
  out.key("steady_ms").number(believed.seen.steady.count()).key("boot").string(believed.seen.boot);
  put("believed_ms", believed.now);
  out.key("steady_since_ms").number(believed.steady_since.count());
  put("set_back_to_ms", believed.set_back_to);
  out.key("doubted_since_ms").number(believed.doubted_since.count());
  out.end_object();
  return std::move(out).take();
}

Result<BelievedTime> parse_believed_time(std::string_view json) {
  BelievedTime believed;
  std::int64_t wall = 0;
  std::int64_t steady = 0;
  std::int64_t steady_since = 0;
  std::int64_t doubted_since = 0;
  std::optional<std::int64_t> now;
  std::optional<std::int64_t> set_back_to;
  json::Reader in(json);
  in.need("wall_ms", wall).need("steady_ms", steady).need("boot", believed.seen.boot).get("believed_ms", now);
  in.need("steady_since_ms", steady_since).get("set_back_to_ms", set_back_to).need("doubted_since_ms", doubted_since);
  TRY(in.finish());
  believed.seen.wall = Time(Millis(wall));
  believed.seen.steady = Millis(steady);
  if (now) believed.now = Time(Millis(*now));
  believed.steady_since = Millis(steady_since);
  if (set_back_to) believed.set_back_to = Time(Millis(*set_back_to));
  believed.doubted_since = Millis(doubted_since);
  return believed;
}

}  // namespace drover
