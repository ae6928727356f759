#include "cli/context.h"

#include <fmt/format.h>

#include "cli/display_text.h"

namespace drover::cli {

void Context::say(std::string_view message) {
  err.line(fmt::format("drover: {}", harmless(message)));
}

int Context::fail(const Error& error) {
  const ErrorInfo& info = error_info(error.code);
  const std::string_view message = error.message.empty() ? info.name : std::string_view(error.message);
  err.line(fmt::format("{} {} ({})", painted("drover:", Paint::kRed, err.look()), harmless(message), info.name));
  return info.exit_code;
}

Result<std::string> Context::door() const {
  if (const std::string* url = environment.find("DROVER_URL")) return *url;
  return drover::fail(ErrorCode::kInvalidArgument, "DROVER_URL is not set: run this command inside a task");
}

}  // namespace drover::cli
