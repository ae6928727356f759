// Which command tests the work in a folder, guessed from the files there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/environment.h"

namespace drover::cli {

struct VerifyGuess {
  std::vector<std::string> argv;
  bool is_sure = false;  // the folder declares it, and its program is there

  bool operator==(const VerifyGuess&) const = default;
};

// The first that something there speaks for, and rather one that is sure.
[[nodiscard]] std::optional<VerifyGuess> guess_verify(const std::filesystem::path& folder,
                                                      const Environment& environment);

}  // namespace drover::cli
