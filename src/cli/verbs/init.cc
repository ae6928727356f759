// drover init: a first drover.yaml for this folder.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/json.h"
#include "base/unique_fd.h"
#include "cli/display_text.h"
#include "cli/project.h"
#include "cli/project_draft.h"
#include "cli/project_folder.h"
#include "cli/verb.h"
#include "workspace/git.h"

namespace drover::cli {
namespace {

struct InitOptions {
  bool force = false;
  bool print = false;
  Format format = Format::kAuto;
};

void define(Verb& verb, InitOptions& options) {
  verb.flag("--force", &options.force, true, "replace the drover.yaml that is there");
  verb.flag("--print", &options.print, true, "print the file instead of writing it");
  verb.json(&options.format, R"(print {"path", "runners", "verify", "next"})");
  verb.check([&options]() -> Status {
    if (options.print && options.format == Format::kJson) return complaint("--print", "prints YAML; leave out --json");
    return {};
  });
}

Status write_text(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return drover::fail(ErrorCode::kInvalidArgument, std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

// Never half of a file, and never over one that is there, unless that is wanted.
Status write_project(const std::filesystem::path& path, std::string_view text, bool replace) {
  const std::string draft = path.string() + (replace ? ".new" : "");
  const auto cannot = [&](std::string_view why) {
    return drover::fail(ErrorCode::kInvalidArgument, fmt::format("cannot write {}: {}", path.string(), why));
  };
  const UniqueFd fd(
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (replace ? O_TRUNC : O_EXCL), 0666));
  if (fd.get() < 0 && errno == EEXIST)
    return drover::fail(ErrorCode::kInvalidArgument,
                        fmt::format("{} is there already and was not changed; --force replaces it, --print shows what "
                                    "would be written",
                                    path.string()));
  if (fd.get() < 0) return cannot(std::strerror(errno));
  const Status written = write_text(fd.get(), text);
  const bool is_in_place = written && (!replace || std::rename(draft.c_str(), path.c_str()) == 0);
  if (is_in_place) return {};
  const std::string why = written ? std::strerror(errno) : written.error().message;
  ::unlink(draft.c_str());
  return cannot(why);
}

bool has_commit(const std::string& repository) {
  const auto head = workspace::Git::discovering(repository).ask({"rev-parse", "--verify", "--quiet", "HEAD^{commit}"});
  return head && head->exit_code == 0;
}

// The top of the repository that this folder is in, if that is another folder.
std::optional<std::string> repository_around(const std::filesystem::path& folder) {
  const auto top = workspace::Git::discovering(folder.string()).ask({"rev-parse", "--show-toplevel"});
  if (!top || top->exit_code != 0) return std::nullopt;
  std::string path = top->out;
  while (path.ends_with('\n')) path.pop_back();
  std::error_code error;
  if (path.empty() || std::filesystem::equivalent(path, folder, error)) return std::nullopt;
  return path;
}

ProjectDraft draft_for(const Context& context) {
  std::error_code error;
  ProjectDraft draft{.runners = draft_runners(look_at_all(context.environment)),
                     .verify = guess_verify(context.folder, context.environment)};
  if (!std::filesystem::exists(context.folder / ".git", error)) return draft;
  draft.repository = context.folder.string();
  draft.has_commit = has_commit(draft.repository);
  return draft;
}

std::string to_json(const ProjectDraft& draft, const std::filesystem::path& path) {
  json::Writer out;
  out.begin_object().key("path").string(path.string()).key("runners").begin_array();
  for (const auto& [type, agent] : draft.runners) {
    out.begin_object().key("type").string(type).key("preset").string(agent.preset->name);
    out.key("program").string(agent.program).key("login");
    agent.login().empty() ? out.null() : out.string(agent.login());
    out.end_object();
  }
  out.end_array().key("verify");
  if (draft.verify) {
    out.begin_object().key("argv").begin_array();
    for (const std::string& word : draft.verify->argv) out.string(word);
    out.end_array().key("active").boolean(draft.verify->is_sure).end_object();
  } else {
    out.null();
  }
  out.key("next").begin_array();
  for (const std::string& command : next_commands(draft)) out.string(command);
  out.end_array().end_object();
  return std::move(out).take();
}

void tell(const ProjectDraft& draft, Context& context) {
  context.say(fmt::format("wrote {}", kProjectFile));
  const auto row = [&](std::string_view name, std::string_view text) {
    context.err.line(fmt::format("  {:<13} {}", name, one_line(text)));
  };
  if (draft.runners.empty()) row(kExampleType, "runs a command as an example: no coding agent is in PATH");
  for (const auto& [type, agent] : draft.runners) {
    const std::string login = agent.login().empty() ? "; no login was found: " + how_to_log_in(*agent.preset)
                                                    : ", which logs in by " + agent.login();
    row(type, fmt::format("runs {}{}", agent.preset->name, login));
  }
  if (draft.verify && !draft.runners.empty()) {
    row("verify",
        fmt::format("`{}` {}", fmt::join(draft.verify->argv, " "),
                    draft.verify->is_sure ? "checks each run" : "is there as a comment: see whether it is right"));
  }
  if (draft.has_clones() && !draft.runners.empty())
    row("workspace", "each task works in a clone of what is committed here, on a branch drover/ID");
  if (const auto around = repository_around(context.folder); around && draft.repository.empty()) {
    row("workspace",
        fmt::format("all tasks work in this folder itself, not in clones: it is inside the repository {}; run "
                    "`drover init` there to give each task a clone",
                    *around));
  }
  context.say("read it, then:");
  for (const std::string& command : next_commands(draft)) context.err.line("  " + command);
}

int run(const InitOptions& options, Context& context) {
  const ProjectDraft draft = draft_for(context);
  const std::string text = draft_yaml(draft);
  if (options.print) {
    context.out.write(text);
    return kExitOk;
  }
  const std::filesystem::path path = context.folder / kProjectFile;
  if (auto written = write_project(path, text, options.force); !written) return context.fail(written.error());
  const auto project = find_project(context);
  if (!project) return context.fail(project.error());
  if (auto made = make_project_folder(context, *project); !made) return context.fail(made.error());
  if (options.format == Format::kJson) {
    context.out.line(to_json(draft, path));
  } else {
    tell(draft, context);
  }
  return kExitOk;
}

}  // namespace

void add_init(Verbs& verbs) {
  verbs.add<InitOptions>(
      {.name = "init",
       .summary = "Write a drover.yaml for this folder, with the coding agents that are installed",
       .footer =
           R"(Looks for Claude Code, Codex, Gemini CLI, opencode and Letta Code in PATH, and for a command that tests the work here, such
as `make test`. The file has one type of task for each agent: `fix` for the first one that can log in, `fix-codex` and so on for
the others. A test command that is only a guess is there as a comment. In a git repository with a commit, each task works in
a clone of its own. Nothing runs before `drover trust`.
It also makes the folder .drover for the tasks, unless DROVER_STORE or --store says where they are.

Examples:
  drover init && drover trust && drover up
  drover init --print
  drover init --force --json | jq -r '.runners[].type')"},
      define, run);
}

}  // namespace drover::cli
