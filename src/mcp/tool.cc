#include "mcp/tool.h"

#include "base/json.h"

namespace drover::mcp {
namespace {

std::string_view advice_on(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return "Check the task id. Tasks of others do not exist for you.";
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kInvalidJson:
    case ErrorCode::kInvalidPayload:
      return "Correct the arguments and call the tool again.";
    case ErrorCode::kUnknownType:
      return "Ask the operator which types there are.";
    case ErrorCode::kForbidden:
      return "This token does not allow it. Do not try again.";
    case ErrorCode::kWrongState:
      return "Look at the task's state with get_task.";
    case ErrorCode::kRequestConflict:
      return "Use another request_id, or the same arguments as before.";
    case ErrorCode::kQueueFull:
      return "Wait until some of the waiting tasks have run, then try again.";
    default:
      return error_info(code).retryable == Retryable::kYes ? "Try again in a few seconds."
                                                           : "Trying again will not help; tell the user.";
  }
}

}  // namespace

ToolResult tool_error(const Error& error) {
  json::Writer out;
  out.begin_object().key("error").begin_object();
  out.key("code").string(error_info(error.code).name).key("message").string(error.message);
  out.key("advice").string(advice_on(error.code)).end_object().end_object();
  return {.json = std::move(out).take(), .is_error = true};
}

}  // namespace drover::mcp
