// drover progress: from inside a task, through its own door.
#include "cli/verbs.h"
#include "worker/door.h"

namespace drover::cli {

int run(const ProgressOptions& options, Context& context) {
  const std::string* url = context.environment.find("DROVER_URL");
  if (url == nullptr) {
    return context.fail({ErrorCode::kInvalidArgument, "this is not inside a task: DROVER_URL is not set", {}});
  }
  const auto reported = report_progress(*url, {options.percent, options.message});
  return reported ? kExitOk : context.fail(reported.error());
}

}  // namespace drover::cli
