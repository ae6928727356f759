#include "worker/runners/workspace_step.h"

#include <fmt/format.h>

#include "worker/runners/exec.h"

namespace drover {
namespace {

constexpr std::size_t kStepAnswerBytesMax = 64 * 1024;

}  // namespace

RunStep WorkspaceStep::begin(const RunSetting& setting, const std::string& name, std::string request) {
  answer_.clear();
  last_words_ = {};
  std::vector<std::string> environment{worker_mark(setting.worker_id)};
  if (const auto path = path_in(setting.worker_environment); !path.empty())
    environment.push_back(fmt::format("PATH={}", path));
  return {.argv = {setting.shim_program, "workspace-step", name},
          .environment = std::move(environment),
          .input = std::move(request),
          .is_of_profile = false};
}

Heard WorkspaceStep::take(LogStream stream, std::string_view bytes) {
  if (stream == LogStream::kOut) {
    answer_.append(bytes.substr(0, kStepAnswerBytesMax - answer_.size()));
    return {};
  }
  last_words_.feed(bytes);
  return {.log = {{stream, std::string(bytes)}}, .is_sign_of_life = true};
}

bool WorkspaceStep::blames_task(const ProcessEnd& end) {
  return exit_code_of(end) == kExitInvalid;
}

std::string WorkspaceStep::error_code() const {
  workspace::StepError error;
  return read_json(last_line(), error) ? error.code : "";
}

std::string_view WorkspaceStep::last_line() const {
  std::string_view text = answer_;
  while (text.ends_with('\n')) text.remove_suffix(1);
  const std::size_t newline = text.rfind('\n');
  return newline == std::string_view::npos ? text : text.substr(newline + 1);
}

std::string WorkspaceStep::complaint(const ProcessEnd& end) const {
  if (workspace::StepError error; read_json(last_line(), error)) return error.message;
  const auto code = exit_code_of(end);
  return with_last_words(code ? fmt::format("a step of the workspace ended with exit code {}", *code)
                              : "a step of the workspace was killed",
                         last_words_.text());
}

}  // namespace drover
