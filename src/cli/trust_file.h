// Which drover.yaml files the user has read and allowed to run commands: path and SHA-256 of each.
#pragma once

#include <filesystem>
#include <string>

#include "cli/environment.h"
#include "drover/error.h"

namespace drover::cli {

// One line per file: its digest, a space, its path. 0600, in a 0700 folder; anything else is not believed.
class TrustFile {
 public:
  explicit TrustFile(std::filesystem::path path) : path_(std::move(path)) {}
  // "trusted" in the user's state folder.
  [[nodiscard]] static Result<TrustFile> of_user(const Environment& environment);

  // Whether exactly this content at this (canonical) path is trusted. An Error if the file itself cannot be believed.
  [[nodiscard]] Result<bool> trusts(const std::filesystem::path& file, const std::string& sha256) const;
  // Replaces what was known of that path.
  [[nodiscard]] Status trust(const std::filesystem::path& file, const std::string& sha256) const;

 private:
  std::filesystem::path path_;
};

}  // namespace drover::cli
