// What a verb works with besides its options: where it writes, what it was started with, how it reports a failure.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "cli/environment.h"
#include "cli/options.h"
#include "cli/output.h"
#include "drover/error.h"

namespace drover::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitTaskFailed = 10;
inline constexpr int kExitTaskCancelled = 11;
inline constexpr int kExitTimedOut = 124;
inline constexpr int kExitInterrupted = 130;

struct Context {
  CommonOptions common;
  Environment environment;
  std::filesystem::path folder;  // the current one
  Output out;                    // data
  Output err;                    // messages

  // "drover: MESSAGE" to stderr.
  void say(std::string_view message);
  // "drover: MESSAGE (CODE)" to stderr. Returns the exit code that belongs to the error.
  int fail(const Error& error);
};

}  // namespace drover::cli
