// The store itself: whether it answers, what time it has, and whether it went backwards.
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/try.h"
#include "cli/doctor/line.h"
#include "core/gate_name.h"
#include "engine/transfer.h"

namespace drover::cli {
namespace {

constexpr Millis kClockWarn{5'000};
constexpr Millis kClockFail{60'000};

constexpr const char* kFix = "drover fsck --repair; if that does not help, restore a backup";

void add_answer(TaskQueue& queue, DoctorLines& lines) {
  const MonoTime before = system_clock().mono();
  const auto seq = queue.last_event_seq();
  if (!seq) return lines.push_back(not_checked("answers", seq.error(), kFix));
  lines.push_back(
      {.check = "answers",
       .detail = fmt::format("in {} ms; {} events so far", (system_clock().mono() - before).count(), *seq)});
}

Result<std::optional<Time>> last_event_time(TaskQueue& queue) {
  const auto seq = TRY(queue.last_event_seq());
  if (seq == 0) return std::nullopt;
  const auto events = TRY(queue.events(seq - 1, 1));
  return events.empty() ? std::nullopt : std::optional(events.front().at);
}

void add_clock(OpenedQueue& opened, DoctorLines& lines) {
  const Time before = system_clock().wall();
  const auto now = opened.administration().now();
  const Time after = system_clock().wall();
  if (!now) return lines.push_back(not_checked("clock", now.error(), kFix));
  const auto last = last_event_time(opened.queue());
  if (!last) return lines.push_back(not_checked("clock", last.error(), kFix));
  lines.push_back(clock_line(std::clamp(*now, before, std::max(before, after)), *now, *last));
}

void add_losses(Administration& store, DoctorLines& lines) {
  const auto state = store.store_state();
  if (!state) return lines.push_back(not_checked("losses", state.error(), kFix));
  for (const Finding& missing : state->missing) {
    lines.push_back({.level = DoctorLevel::kFail,
                     .check = "losses",
                     .detail = fmt::format("{}: {}", missing.code, missing.detail),
                     .fix = "drover fsck; restore what is gone from a backup, or go on without it"});
  }
  const std::optional<Loss>& loss = state->loss;
  if (!loss && !state->missing.empty()) return;
  if (!loss) return lines.push_back({.check = "losses", .detail = "nothing is known to be lost"});
  lines.push_back({.level = DoctorLevel::kFail,
                   .check = "losses",
                   .detail = fmt::format("the store went backwards, gone: {}; nothing is claimed", to_string(*loss)),
                   .fix = "restore what is gone, or go on without it: drover store accept-regression"});
}

void add_import(TaskQueue& queue, DoctorLines& lines) {
  const auto gates = queue.gates();
  if (!gates) return lines.push_back(not_checked("import", gates.error(), kFix));
  if (std::ranges::none_of(*gates, [](const GateStatus& gate) { return is_import_mark(gate); })) {
    return lines.push_back({.check = "import", .detail = "no import is unfinished"});
  }
  lines.push_back(
      {.level = DoctorLevel::kFail,
       .check = "import",
       .subject = std::string(kAllGate),
       .detail = "an import is under way or was interrupted: the store is incomplete, and nothing is claimed",
       .fix = "if it was interrupted: remove the store, and drover import into a new one"});
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
  add_answer(opened.queue(), lines);
  add_clock(opened, lines);
  add_losses(opened.administration(), lines);
  add_import(opened.queue(), lines);
}

}  // namespace drover::cli
