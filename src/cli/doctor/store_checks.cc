// The store itself: whether it answers, what time it has, and whether it went backwards.
#include <fmt/format.h>

#include "base/clock.h"
#include "cli/doctor/line.h"

namespace drover::cli {
namespace {

constexpr Millis kClockWarn{5'000};
constexpr Millis kClockFail{60'000};

DoctorLine failed(std::string check, const Error& error) {
  return {.level = DoctorLevel::kFail,
          .check = std::move(check),
          .detail = error.message,
          .fix = "drover fsck; if it cannot be mended, restore a backup"};
}

void add_answer(Store& store, DoctorLines& lines) {
  const MonoTime before = system_clock().mono();
  const auto seq = store.last_event_seq();
  if (!seq) return lines.push_back(failed("answers", seq.error()));
  lines.push_back(
      {.check = "answers",
       .detail = fmt::format("in {} ms; {} events so far", (system_clock().mono() - before).count(), *seq)});
}

Result<std::optional<Time>> last_event_time(Store& store) {
  const auto seq = store.last_event_seq();
  if (!seq) return std::unexpected(seq.error());
  if (*seq == 0) return std::nullopt;
  const auto events = store.events(*seq - 1, 1);
  if (!events) return std::unexpected(events.error());
  return events->empty() ? std::nullopt : std::optional(events->front().at);
}

void add_clock(Store& store, DoctorLines& lines) {
  const auto now = store.now();
  if (!now) return lines.push_back(failed("clock", now.error()));
  const auto last = last_event_time(store);
  if (!last) return lines.push_back(failed("clock", last.error()));
  lines.push_back(clock_line(system_clock().wall(), *now, *last));
}

void add_losses(Store& store, DoctorLines& lines) {
  const auto state = store.state();
  if (!state) return lines.push_back(failed("losses", state.error()));
  const std::optional<Loss>& loss = state->loss;
  if (!loss) return lines.push_back({.check = "losses", .detail = "nothing is known to be lost"});
  lines.push_back({.level = DoctorLevel::kFail,
                   .check = "losses",
                   .detail = fmt::format("the store went backwards, gone: {}; nothing is claimed", to_string(*loss)),
                   .fix = "restore what is gone, or go on without it: drover store accept-regression"});
}

}  // namespace

DoctorLine clock_line(Time here, Time store, std::optional<Time> last_event) {
  const Millis off = here > store ? here - store : store - here;
  const Millis ahead = last_event ? std::max(Millis{0}, *last_event - store) : Millis{0};
  const Millis worst = std::max(off, ahead);
  DoctorLine line{.check = "clock", .detail = fmt::format("{} ms from the store's", off.count())};
  if (worst < kClockWarn) return line;
  line.level = worst < kClockFail ? DoctorLevel::kWarn : DoctorLevel::kFail;
  const std::string by = format_duration(std::chrono::round<std::chrono::seconds>(worst));
  line.detail =
      ahead > off ? fmt::format("the last event is {} ahead of the store's clock", by)
                  : fmt::format("this machine's clock is {} {} the store's", by, here > store ? "ahead of" : "behind");
  line.fix = "timedatectl set-ntp true, here and on the store's machine";
  return line;
}

void check_store(OpenedQueue& opened, DoctorLines& lines) {
  add_answer(opened.store(), lines);
  add_clock(opened.store(), lines);
  add_losses(opened.store(), lines);
}

}  // namespace drover::cli
