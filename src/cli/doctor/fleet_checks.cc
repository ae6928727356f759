// The fleet: what the sweeper would raise alerts of, and workers that were left behind by an upgrade.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cli/doctor/line.h"
#include "cli/gate_view.h"
#include "core/gate_name.h"

namespace drover::cli {
namespace {

// What a kind that found nothing is said to be.
std::string_view all_is_well(AlertKind kind) {
  switch (kind) {
    case AlertKind::kBreakerOpen:
      return "none is open";
    case AlertKind::kBreakerStuck:
      return "none waits for a probe";
    case AlertKind::kDeadLetter:
      return "none";
    case AlertKind::kFailure:
      return "none of a class that raises alerts";
    case AlertKind::kWorkerLost:
      return "none is silent";
    case AlertKind::kNotServed:
      return "every queue with waiting tasks has a worker";
    case AlertKind::kHeld:
      return "no gate holds tasks back";
    case AlertKind::kIdleWorkers:
      return "no task waits while workers are idle";
    case AlertKind::kWaiting:
      return "no more tasks are waiting than usual";
    case AlertKind::kLag:
      return "few tasks are waiting";
    case AlertKind::kRunningPerWorker:
      return "no worker runs too many tasks";
    case AlertKind::kNoProgress:
      return "every running task makes progress";
    case AlertKind::kBudget:
      return "none is near its end";
  }
  return "";
}

// Held for less than the policy's threshold: worth a line, and nothing is wrong. Whether there is any.
bool add_held(TaskQueue& queue, Time now, DoctorLines& lines) {
  const auto queues = queue.queues();
  const std::size_t before = lines.size();
  if (!queues) {
    lines.push_back(not_checked("held", queues.error(), "drover queue list"));
    return true;
  }
  for (const QueueStatus& one : *queues) {
    for (const HeldTasks& held : one.held) {
      if (!held.shut) continue;
      lines.push_back(
          {.check = "held", .subject = gate_name(GateKind::kQueue, one.name), .detail = held_text(held, now)});
    }
  }
  return lines.size() > before;
}

void add_alerts(const std::vector<Alert>& alerts, AlertKind kind, DoctorLines& lines) {
  if (std::ranges::find(alerts, kind, &Alert::kind) == alerts.end())
    lines.push_back({.check = std::string(name_of(kind)), .detail = std::string(all_is_well(kind))});
  for (const Alert& alert : alerts) {
    if (alert.kind != kind) continue;
    lines.push_back({.level = alert.severity == Severity::kCritical ? DoctorLevel::kFail : DoctorLevel::kWarn,
                     .check = std::string(name_of(kind)),
                     .subject = alert.subject,
                     .detail = alert.detail,
                     .fix = alert.fix});
  }
}

// "1.12.0" as numbers, so that 1.9 is older than 1.12; what is no number counts as 0.
std::vector<int> parts_of_version(std::string_view text) {
  std::vector<int> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('.'), text.size());
    int part = 0;
    std::from_chars(text.data(), text.data() + end, part);
    parts.push_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace

DoctorLines version_lines(const std::vector<WorkerInfo>& workers, std::string_view ours, Time now) {
  std::string newest(ours);
  for (const WorkerInfo& worker : workers) {
    if (parts_of_version(newest) < parts_of_version(worker.version)) newest = worker.version;
  }
  DoctorLines lines;
  for (const WorkerInfo& worker : workers) {
    if (is_silent(worker, now) || worker.version.empty() ||
        parts_of_version(worker.version) >= parts_of_version(newest))
      continue;
    lines.push_back(
        {.level = DoctorLevel::kWarn,
         .check = "version",
         .subject = "worker:" + worker.id,
         .detail = fmt::format("runs drover {}; {} is in use", worker.version, newest),
         .fix = fmt::format("drover worker drain {} --reason upgrade; then start drover {} there", worker.id, newest)});
  }
  if (parts_of_version(ours) < parts_of_version(newest)) {
    lines.push_back({.level = DoctorLevel::kWarn,
                     .check = "version",
                     .subject = "this program",
                     .detail = fmt::format("drover {}; {} is in use", ours, newest),
                     .fix = fmt::format("install drover {}", newest)});
  }
  if (lines.empty()) lines.push_back({.check = "version", .detail = fmt::format("drover {}", newest)});
  return lines;
}

DoctorLines trouble_lines(const std::vector<WorkerInfo>& workers, Time now) {
  DoctorLines lines;
  for (const WorkerInfo& worker : workers) {
    if (is_silent(worker, now)) continue;
    for (const Serve& serve : worker.serves) {
      if (serve.trouble.empty()) continue;
      lines.push_back(
          {.level = DoctorLevel::kFail,
           .check = "worker_trouble",
           .subject = "worker:" + worker.id,
           .detail = fmt::format("takes no tasks of {}: {}",
                                 serve.type ? "type " + *serve.type : "queue " + serve.queue, serve.trouble),
           .fix = "correct that on its machine; the worker tries again by itself"});
    }
  }
  return lines;
}

void check_fleet(OpenedQueue& opened, DoctorLines& lines) {
  const auto look = opened.administration().look_at_fleet();
  if (!look) return lines.push_back(not_checked("fleet", look.error(), "drover fsck"));
  std::ranges::copy(version_lines(look->workers, DROVER_VERSION, look->now), std::back_inserter(lines));
  std::ranges::copy(trouble_lines(look->workers, look->now), std::back_inserter(lines));
  for (int i = 0; i < kAlertKindCount; ++i) {
    const auto kind = static_cast<AlertKind>(i);
    const bool is_raised = std::ranges::find(look->alerts, kind, &Alert::kind) != look->alerts.end();
    if (kind == AlertKind::kHeld && !is_raised && add_held(opened.queue(), look->now, lines)) continue;
    add_alerts(look->alerts, kind, lines);
  }
}

}  // namespace drover::cli
