// The program: `drover shim` is what supervises a run, `drover workspace-step` what prepares its folder; everything
// else is the command line.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "cli/command_line.h"
#include "worker/shim.h"
#include "worker/undertaker.h"
#include "workspace/step.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "shim") return drover::shim_main(argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == "undertaker") return drover::undertaker_main(argc, argv);
  try {
    if (argc > 1 && std::string_view(argv[1]) == "workspace-step") return drover::workspace::step_main(argc, argv);
    return drover::cli::run_command_line(argc, argv);
  } catch (const std::exception& error) {  // out of memory, and the like
    fmt::print(stderr, "drover: {} (internal)\n", error.what());
    return 1;
  }
}
