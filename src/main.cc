// The program: `drover shim` is what supervises a run, everything else is the command line.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "cli/command_line.h"
#include "worker/shim.h"
#include "worker/undertaker.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "shim") return drover::shim_main(argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == "undertaker") return drover::undertaker_main(argc, argv);
  try {
    return drover::cli::run_command_line(argc, argv);
  } catch (const std::exception& error) {  // out of memory, and the like
    fmt::print(stderr, "drover: {} (internal)\n", error.what());
    return 1;
  }
}
