// drover trust: the user has read a drover.yaml and lets it run commands.
#include <fmt/format.h>

#include "base/json.h"
#include "cli/display_text.h"
#include "cli/project.h"
#include "cli/trust_file.h"
#include "cli/verb.h"

namespace drover::cli {
namespace {

struct TrustOptions {
  std::string file = "drover.yaml";
  Format format = Format::kAuto;
};

void define(Verb& verb, TrustOptions& options) {
  verb.value("FILE", "", &options.file, read_text, "default: drover.yaml here");
  verb.json(&options.format, R"(print {"path", "sha256"})");
}

int run(const TrustOptions& options, Context& context) {
  const auto project = read_project(context.folder / options.file);
  if (!project) return context.fail(project.error());
  const auto trust_file = TrustFile::of_user(context.environment);
  if (!trust_file) return context.fail(trust_file.error());
  if (auto trusted = trust_file->trust(project->path, project->sha256); !trusted) return context.fail(trusted.error());
  if (options.format == Format::kJson) {
    json::Writer writer;
    writer.begin_object().key("path").string(project->path.string()).key("sha256").string(project->sha256).end_object();
    context.out.line(std::move(writer).take());
    return kExitOk;
  }
  const auto& runners = project->document.local.runners;
  context.say(fmt::format("trusted {}; {}", project->path.string(),
                          runners.empty() ? "it has no local.runners, so nothing runs" : "`drover up` may run:"));
  for (const auto& [type, runner] : runners) {
    const std::string check = runner.verify ? fmt::format(", then {}", fmt::join(runner.verify->argv, " ")) : "";
    context.err.line("  " + one_line(fmt::format("{}: {}{}", type, fmt::join(runner.argv, " "), check)));
  }
  if (project->document.shared != "{}") {
    context.say(fmt::format(
        "its policy counts for tasks that you enqueue once `drover up` runs, or after `drover config apply {}`",
        options.file));
  }
  return kExitOk;
}

}  // namespace

void add_trust(Verbs& verbs) {
  verbs.add<TrustOptions>(
      {.name = "trust",
       .summary = "Allow `drover up` and `drover work` to run what a drover.yaml says",
       .footer =
           R"(Records the path and SHA-256 of the file in your state folder. If the file changes, trust it again.

Examples:
  drover trust
  drover trust ../other/drover.yaml)"},
      define, run);
}

}  // namespace drover::cli
