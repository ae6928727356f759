// What a verb works with besides its options: where it writes, what it was started with, how it reports a failure.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/environment.h"
#include "cli/options.h"
#include "cli/output.h"
#include "drover/error.h"
#include "drover/ids.h"

namespace drover::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitTaskFailed = 10;
inline constexpr int kExitTaskCancelled = 11;
inline constexpr int kExitTimedOut = 124;
inline constexpr int kExitInterrupted = 130;

// The beginning of an id that somebody typed, and where the whole id goes once the store is open.
struct TaskPrefix {
  std::string text;
  std::function<void(const TaskId&)> put;
};

struct Context {
  CommonOptions common;
  Environment environment;
  std::filesystem::path folder;  // the current one
  Output out;                    // data
  Output err;                    // messages
  std::vector<TaskPrefix> prefixes{};

  // "drover: MESSAGE" to stderr.
  void say(std::string_view message);
  // "drover: MESSAGE (CODE)" to stderr. Returns the exit code that belongs to the error.
  int fail(const Error& error);
  // Where a command inside a task speaks for it: DROVER_URL.
  [[nodiscard]] Result<std::string> door() const;
};

}  // namespace drover::cli
