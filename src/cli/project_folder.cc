#include "cli/project_folder.h"

#include <fmt/format.h>

#include <fstream>

#include "cli/files.h"

namespace drover::cli {
namespace {

// Whether there is a store at that URL with tasks that have not ended. One that does not open has a say when it is
// used.
bool has_unfinished_tasks(const std::string& url, const Context& context) {
  std::error_code error;
  if (!std::filesystem::exists(url.substr(url.find(':') + 1), error)) return false;
  const auto opened = open_store(url, context);
  if (!opened) return false;
  TaskFilter unfinished;
  for (std::size_t i = 0; i < kTaskStateCount; ++i) {
    if (!is_terminal(static_cast<TaskState>(i))) unfinished.states.push_back(static_cast<TaskState>(i));
  }
  const auto page = (*opened)->queue().list(unfinished, 1, std::nullopt);
  return page && !page->tasks.empty();
}

}  // namespace

Status make_project_folder(Context& context, const std::optional<Project>& project) {
  const bool chosen = context.common.store || context.environment.find("DROVER_STORE") != nullptr;
  const std::filesystem::path folder = context.folder / kProjectFolder;
  std::error_code error;
  if (chosen || !project || project->document.local.store || std::filesystem::exists(folder, error)) return {};
  const auto before = choose_store(context);
  if (!before) return std::unexpected(before.error());
  if (auto made = make_private_folder(folder); !made) return made;
  // An agent that adds all files to git must not add the store.
  if (!(std::ofstream(folder / ".gitignore") << "*\n").flush())
    return drover::fail(ErrorCode::kInternal, fmt::format("cannot write {}/.gitignore", folder.string()));
  std::string told = fmt::format("created {} for the tasks of this project", folder.string());
  if (has_unfinished_tasks(*before, context)) told += fmt::format("; unfinished ones are in --store {}", *before);
  context.say(told);
  return {};
}

}  // namespace drover::cli
