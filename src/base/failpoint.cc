#include "base/failpoint.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/check.h"

namespace drover {
namespace {

struct KillPoint {
  std::string name;
  std::atomic<std::uint64_t> passages_left;

  explicit KillPoint(std::string_view spec) : name(spec), passages_left(1) {
    const std::size_t colon = name.rfind(':');
    if (colon != std::string::npos) {
      passages_left = parse_count(std::string_view(name).substr(colon + 1));
      name.resize(colon);
    }
    CHECK_MSG(!name.empty(), "DROVER_FAILPOINT is NAME[:N]");
  }

  static std::uint64_t parse_count(std::string_view digits) {
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    // A crash test whose spec is wrong would pass without a crash: stop instead.
    CHECK_MSG(error == std::errc() && end == digits.data() + digits.size() && count > 0,
              "DROVER_FAILPOINT is NAME[:N], N a whole number from 1");
    return count;
  }
};

struct State {
  KillPoint* kill_point = nullptr;
  std::function<void(std::string_view)> handler;
};

// Never destroyed: threads may still pass a failpoint while the process ends.
State& state() {
  static State& instance = *new State;
  return instance;
}

std::atomic<bool> armed{false};

void update_armed() {
  armed.store(state().kill_point != nullptr || state().handler, std::memory_order_relaxed);
}

[[maybe_unused]] const bool kEnvironmentRead = [] {
  const char* spec = std::getenv("DROVER_FAILPOINT");
  if (spec != nullptr && *spec != '\0') state().kill_point = new KillPoint(spec);
  update_armed();
  return true;
}();

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

void pass_armed(std::string_view name) {
  State& current = state();
  if (current.handler) current.handler(name);
  KillPoint* point = current.kill_point;
  if (point != nullptr && point->name == name && point->passages_left.fetch_sub(1) == 1) die();
}

}  // namespace

void failpoint(std::string_view name) {
  if (armed.load(std::memory_order_relaxed)) [[unlikely]]
    pass_armed(name);
}

void set_failpoint_handler(std::function<void(std::string_view)> handler) {
  state().handler = std::move(handler);
  update_armed();
}

}  // namespace drover
