// The whole of the program `drover` but for its main().
#pragma once

namespace drover::cli {

// Reads the command line, does what it says, and returns the exit code.
[[nodiscard]] int run_command_line(int argc, char** argv);

}  // namespace drover::cli
