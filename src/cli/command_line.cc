#include "cli/command_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "cli/parse.h"

namespace drover::cli {
namespace {

Context make_context(const CommonOptions& common) {
  Environment environment = Environment::of_process();
  const Look out = look_of(STDOUT_FILENO, common.color, environment);
  const Look err = look_of(STDERR_FILENO, common.color, environment);
  std::error_code error;  // a folder that is gone is an empty path: relative names will not be found
  return {.common = common,
          .environment = std::move(environment),
          .folder = std::filesystem::current_path(error),
          .out = Output(STDOUT_FILENO, out),
          .err = Output(STDERR_FILENO, err)};
}

int report(const UsageError& error) {
  Context context = make_context({});
  (void)context.fail({ErrorCode::kInvalidArgument, error.message, {}});
  context.err.line(fmt::format("try: {} --help", error.command));
  return kExitUsage;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  // A reader that goes away is an error of write(), which Output knows; it must not kill a worker.
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  const auto invocation = parse_command_line(arguments);
  if (!invocation) return report(invocation.error());
  configure_log(invocation->common.log_level.value_or(LogLevel::kError), LogFormat::kAuto);
  Context context = make_context(invocation->common);
  context.prefixes = invocation->prefixes;
  const int exit_code = invocation->run(context);
  const auto written = context.out.result();
  return written ? exit_code : context.fail(written.error());
}

}  // namespace drover::cli
