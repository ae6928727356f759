// `soak NAME [ARGS]`: long runs that are too slow for ./dev test. Each subcommand lives in its own file.
#pragma once

#include <span>
#include <string_view>

namespace drover::soak {

struct Subcommand {
  std::string_view name;
  std::string_view usage;             // its arguments and what it does, one line
  int (*run)(std::span<char*> args);  // returns the exit code
};

// At namespace scope: const Register registered({"storm", "[--minutes N]  kills workers", run_storm});
class Register {
 public:
  explicit Register(const Subcommand& subcommand);
};

// The value after `--name` in args, or nullptr.
[[nodiscard]] const char* option(std::span<char*> args, std::string_view name);
// As a whole number; ends the program with a message if it is none.
[[nodiscard]] long long number_option(std::span<char*> args, std::string_view name, long long otherwise);
[[nodiscard]] bool has_flag(std::span<char*> args, std::string_view name);

}  // namespace drover::soak
