// Outputs of the real agents, as they were captured.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "agents/agent_reader.h"
#include "agents/preset.h"

namespace drover::agents {

struct Fixture {
  std::string name;
  std::string preset;
  std::string out;
  std::string err;
  int exit_code = 0;
  std::string billed{};  // the provider's ledger of the run, where it was captured
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Those with a file of that ending beside them.
inline std::vector<Fixture> fixtures_with(const std::string& ending) {
  constexpr std::string_view kOut = ".stdout.jsonl";
  const std::filesystem::path folder = DROVER_FIXTURES "/agents";
  std::vector<Fixture> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(kOut)) continue;
    name.resize(name.size() - kOut.size());
    if (!std::filesystem::exists(folder / (name + ending))) continue;
    found.push_back({.name = name,
                     .preset = name.substr(0, name.find('-')),
                     .out = read_file(entry.path()),
                     .err = read_file(folder / (name + ".stderr")),
                     .exit_code = std::stoi(read_file(folder / (name + ".exit")).substr(std::string("EXIT=").size())),
                     .billed = read_file(folder / (name + ".billed"))});
  }
  std::ranges::sort(found, {}, &Fixture::name);
  return found;
}
// Their meaning is written down.
inline std::vector<Fixture> fixtures() {
  return fixtures_with(".outcome.json");
}
// The provider's side of them is known.
inline std::vector<Fixture> captures() {
  return fixtures_with(".billed");
}

// Sunday, five in the afternoon; clocks here are an hour ahead.
inline const Time kNow = *parse_time("2026-11-15T17:00:00Z");

inline std::optional<std::chrono::seconds> test_zones(std::string_view zone, Time at) {
  using std::chrono::hours;
  if (zone.empty()) return hours(1);
  if (zone == "UTC") return hours(0);
  if (zone == "Europe/Lisbon") return hours(0);
  if (zone == "America/New_York") return hours(-5);
  if (zone == "Test/Spring") return hours(at < *parse_time("2026-11-16T01:00:00Z") ? 1 : 2);
  return std::nullopt;
}

inline const WallClock kClock{.now = kNow, .offset = test_zones};

struct Output {
  std::string_view out;
  std::string_view err{};
};

inline AgentOutcome outcome_of(std::string_view preset, const Output& output, const AgentExit& exit = {},
                               ReaderOptions options = {.clock = kClock}) {
  AgentReader reader(*find_preset(preset), std::move(options));
  reader.read_stderr(output.err, kNow);
  reader.read_stdout(output.out, kNow);
  reader.finish(kNow);
  return reader.conclude(exit);
}

}  // namespace drover::agents
