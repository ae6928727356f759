// A step of Drover's own in a run, `drover workspace-step NAME`: how it is started, and what it answered
// (workspace/step.h).
#pragma once

#include <string>
#include <string_view>

#include "worker/run_plan.h"
#include "workspace/step.h"

namespace drover {

class WorkspaceStep {
 public:
  // Forgets the step before it. It gets none of the profile's secrets.
  [[nodiscard]] RunStep begin(const RunSetting& setting, const std::string& name, std::string request);
  [[nodiscard]] Heard take(LogStream stream, std::string_view bytes);

  // Its answer; why there is none, in its own words if it has any.
  template <class Answer>
  [[nodiscard]] Result<Answer> answer(const ProcessEnd& end) const {
    if (exit_code_of(end) != 0) return fail(ErrorCode::kInternal, complaint(end));
    Answer answer;
    if (const Status read = read_json(last_line(), answer); !read) return std::unexpected(read.error());
    return answer;
  }
  // Whether it says that the task or its agent is at fault.
  [[nodiscard]] static bool blames_task(const ProcessEnd& end);
  // The code of its error; empty if it told none.
  [[nodiscard]] std::string error_code() const;

 private:
  [[nodiscard]] std::string_view last_line() const;
  [[nodiscard]] std::string complaint(const ProcessEnd& end) const;

  std::string answer_;
  LastLine last_words_;
};

}  // namespace drover
