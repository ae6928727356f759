// Where the server of a store is: a note in the user's state folder, for as long as the server runs, so that `drover
// dashboard` finds it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/environment.h"
#include "drover/error.h"

namespace drover::cli {

class ServedNote {
 public:
  // A server works without: what goes wrong is logged.
  ServedNote(const std::string& store_url, const std::string& server_url, const Environment& environment);
  // Takes it away, unless another server of that store has written its own meanwhile.
  ~ServedNote();
  ServedNote(const ServedNote&) = delete;
  ServedNote& operator=(const ServedNote&) = delete;

  // The URL of the server that serves this store, or did when it was killed.
  [[nodiscard]] static Result<std::optional<std::string>> find(const std::string& store_url,
                                                               const Environment& environment);

 private:
  std::filesystem::path path_;  // empty: nothing was written
  std::string text_;
};

}  // namespace drover::cli
