// drover.yaml of this folder: whether it is trusted and in force, and whether its programs are there.
#include <fmt/format.h>

#include "cli/doctor/line.h"
#include "cli/project.h"
#include "core/gate_name.h"
#include "worker/runner_profile.h"

namespace drover::cli {
namespace {

void add_runners(const Project& project, const Environment& environment, DoctorLines& lines) {
  const std::string* path = environment.find("PATH");
  for (const auto& [type, profile] : project.document.local.runners) {
    if (const auto rule = missing_check(profile, project.document.policy.type(type))) {
      lines.push_back({.level = DoctorLevel::kFail,
                       .check = "runner",
                       .subject = gate_name(GateKind::kType, type),
                       .detail = fmt::format("the type has verify: {}, but its runner checks nothing", name_of(*rule)),
                       .fix = fmt::format("add local.runners.{}.verify to {}", type, kProjectFile)});
      continue;
    }
    const auto missing = missing_program(profile, path != nullptr ? *path : "");
    if (!missing) {
      lines.push_back({.check = "runner", .subject = gate_name(GateKind::kType, type), .detail = profile.argv.front()});
      continue;
    }
    lines.push_back(
        {.level = DoctorLevel::kFail,
         .check = "runner",
         .subject = gate_name(GateKind::kType, type),
         .detail = fmt::format("{} is not found", missing->name),
         .fix = fmt::format("install it, or correct local.runners.{}.{} in {}", type, missing->field, kProjectFile)});
  }
}

void add_late_usage(const Project& project, DoctorLines& lines) {
  for (const auto& [type, profile] : project.document.local.runners) {
    if (profile.preset == nullptr || !profile.preset->tells_usage_late) continue;
    if (project.document.policy.type(type).budget_per_run == BudgetShares{}) continue;
    lines.push_back({.check = "budget_per_run",
                     .subject = gate_name(GateKind::kType, type),
                     .detail = fmt::format("{} may tell what it used only at the end of a run, so a budget cannot stop "
                                           "it before: the most that a run can cost belongs in "
                                           "types.{}.budget_per_run",
                                           profile.preset->name, type)});
  }
}

void add_trust(const Project& project, const Environment& environment, DoctorLines& lines) {
  const auto trusted = is_trusted(project, environment);
  if (trusted && *trusted) {
    lines.push_back({.check = "trust", .subject = project.path.string(), .detail = "trusted"});
    return;
  }
  lines.push_back({.level = DoctorLevel::kWarn,
                   .check = "trust",
                   .subject = project.path.string(),
                   .detail = trusted ? "not trusted, or changed since: nothing in it runs" : trusted.error().message,
                   .fix = fmt::format("read it, then: drover trust {}", project.path.string())});
}

void add_policy(const Project& project, TaskQueue& queue, DoctorLines& lines) {
  if (project.document.shared == "{}") return;
  const auto config = queue.config();
  if (!config) return;  // the store's own lines tell
  if (config->document == project.document.shared) {
    lines.push_back({.check = "policy", .detail = fmt::format("version {} is this drover.yaml", config->version)});
    return;
  }
  lines.push_back({.level = DoctorLevel::kWarn,
                   .check = "policy",
                   .detail = config->version == 0 ? "drover.yaml is not applied"
                                                  : fmt::format("version {} differs from drover.yaml", config->version),
                   .fix = fmt::format("drover config apply {}", kProjectFile)});
}

}  // namespace

void check_project(const Context& context, OpenedQueue* opened, DoctorLines& lines) {
  const auto found = find_project(context);
  if (!found) {
    lines.push_back({.level = DoctorLevel::kFail,
                     .check = "config",
                     .subject = std::string(kProjectFile),
                     .detail = found.error().message,
                     .fix = "correct that line"});
    return;
  }
  const std::optional<Project>& project = *found;
  if (!project) return;
  add_trust(*project, context.environment, lines);
  if (opened != nullptr) add_policy(*project, opened->queue(), lines);
  add_runners(*project, context.environment, lines);
  add_late_usage(*project, lines);
}

}  // namespace drover::cli
