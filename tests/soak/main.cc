#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "soak/subcommand.h"

namespace drover::soak {
namespace {

std::vector<Subcommand>& subcommands() {
  static std::vector<Subcommand> list;
  return list;
}

int usage(std::FILE* out) {
  fmt::print(out, "usage: soak [SUBCOMMAND [ARGS]]    without one, all of them run with their defaults\n\n");
  for (const Subcommand& subcommand : subcommands()) fmt::print(out, "  {} {}\n", subcommand.name, subcommand.usage);
  return out == stdout ? EXIT_SUCCESS : 2;
}

int run_all() {
  int worst = EXIT_SUCCESS;
  for (const Subcommand& subcommand : subcommands()) {
    fmt::print("== soak {}\n", subcommand.name);
    std::fflush(stdout);
    worst = std::max(worst, subcommand.run({}));
  }
  return worst;
}

int run(std::span<char*> args) {
  std::ranges::sort(subcommands(), {}, &Subcommand::name);
  if (args.empty()) return run_all();
  const std::string_view name = args.front();
  if (name == "help" || name == "--help" || name == "-h") return usage(stdout);
  const auto found = std::ranges::find(subcommands(), name, &Subcommand::name);
  if (found == subcommands().end()) return usage(stderr);
  return found->run(args.subspan(1));
}

}  // namespace

Register::Register(const Subcommand& subcommand) {
  subcommands().push_back(subcommand);
}

bool has_flag(std::span<char*> args, std::string_view name) {
  return std::ranges::any_of(args, [&](const char* arg) { return name == arg; });
}

const char* option(std::span<char*> args, std::string_view name) {
  const auto found = std::ranges::find_if(args, [&](const char* arg) { return name == arg; });
  return found == args.end() || found + 1 == args.end() ? nullptr : *(found + 1);
}

long long number_option(std::span<char*> args, std::string_view name, long long otherwise) {
  const char* text = option(args, name);
  if (text == nullptr) return otherwise;
  long long value = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
  if (error == std::errc() && *end == '\0') return value;
  fmt::print(stderr, "soak: {} wants a whole number, not {}\n", name, text);
  std::exit(2);
}

}  // namespace drover::soak

int main(int argc, char** argv) {
  return drover::soak::run(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
}
