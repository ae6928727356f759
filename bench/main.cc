// drover_bench: how fast the stores and a worker on them are, beside the bare stores and other queues in the same run.
#include <fmt/format.h>
#include <stdlib.h>

#include <cstdio>
#include <exception>
#include <span>
#include <string_view>
#include <system_error>

#include "bars.h"
#include "base/log.h"
#include "cases.h"
#include "progress.h"

namespace drover::bench {
namespace {

constexpr std::string_view kUsage =
    R"(usage: drover_bench [--quick] [--json] [--only TEXT] [--dir FOLDER] [--peers FOLDER]

  --quick         a small run: that it works, not how fast
  --json          figures as JSON instead of tables
  --only TEXT     only measurements whose name contains TEXT
  --dir FOLDER    where the databases go (default: the temporary folder); put it on the disk that matters
  --peers FOLDER  run other queues too; those from npm are installed there (./dev bench --peers does it)
)";

struct Options {
  Scale scale;
  bool json = false;
  std::string only;
  std::filesystem::path parent = std::filesystem::temp_directory_path();
  std::filesystem::path peers;
};

// A folder that is gone afterwards.
class WorkFolder {
 public:
  explicit WorkFolder(const std::filesystem::path& parent) {
    std::string name = (parent / "drover-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
    path_ = name;
  }
  ~WorkFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::optional<Options> parse(std::span<char*> arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const bool has_value = i + 1 < arguments.size();
    if (argument == "--quick") {
      options.scale = kQuick;
    } else if (argument == "--json") {
      options.json = true;
    } else if (argument == "--only" && has_value) {
      options.only = arguments[++i];
    } else if (argument == "--dir" && has_value) {
      options.parent = arguments[++i];
    } else if (argument == "--peers" && has_value) {
      options.peers = arguments[++i];
    } else {
      return std::nullopt;
    }
  }
  return options;
}

std::vector<Case> chosen_cases(const std::string& only) {
  std::vector<Case> cases;
  for (const auto& group :
       {latency_cases, throughput_cases, redis_cost_cases, rest_cases, watcher_cases, peer_cases, claim_work_cases}) {
    for (Case& one : group()) cases.push_back(std::move(one));
  }
  std::erase_if(cases, [&](const Case& one) { return one.name.find(only) == std::string::npos; });
  return cases;
}

int measure(const Options& options) {
  const WorkFolder folder(options.parent);
  Ground ground(folder.path(), options.peers);
  const std::vector<Case> cases = chosen_cases(options.only);
  if (cases.empty()) {
    fmt::print(stderr, "bench: no measurement is called like that: {}\n", options.only);
    return 2;
  }
  std::vector<Figure> figures;
  {
    Progress progress(static_cast<int>(cases.size()));
    for (const Case& one : cases) {
      progress.begin(one.name);
      for (Figure& figure : one.measure(ground, options.scale)) figures.push_back(std::move(figure));
    }
  }
  const std::vector<BarResult> bars = hold_to_bars(figures);
  if (options.json) {
    fmt::print("{}\n", to_json(figures, bars));
  } else {
    fmt::print("{}\n{}", to_table(figures), to_table(bars));
  }
  return 0;
}

int run(std::span<char*> arguments) {
  configure_log(LogLevel::kWarn, LogFormat::kAuto);
  if (arguments.size() == 2 && std::string_view(arguments[0]) == "listen") return listener_main(arguments[1]);
  if (arguments.size() == 2 && std::string_view(arguments[0]) == "serve") return server_main(arguments[1]);
  const auto options = parse(arguments);
  if (!options) {
    fmt::print(stderr, "{}", kUsage);
    return 2;
  }
  return measure(*options);
}

}  // namespace
}  // namespace drover::bench

int main(int argc, char** argv) {
  try {
    return drover::bench::run({argv + 1, static_cast<std::size_t>(argc - 1)});
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench: {}\n", error.what());
    return 1;
  }
}
