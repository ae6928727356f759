// A file that only its owner may touch. What stands in one that others can write is not believed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "drover/error.h"

namespace drover::cli {

class PrivateFile {
 public:
  // Locked against writers while it lives; nothing if there is none. kForbidden: it is not the user's alone.
  [[nodiscard]] static Result<std::optional<PrivateFile>> open_for_reading(std::filesystem::path path);
  // Locked against everybody; created, with its folder, if there is none.
  [[nodiscard]] static Result<PrivateFile> open_for_writing(std::filesystem::path path);

  [[nodiscard]] Result<std::string> read() const;
  // Replaces what is in it.
  [[nodiscard]] Status write(std::string_view text) const;

 private:
  PrivateFile(UniqueFd fd, std::filesystem::path path) : fd_(std::move(fd)), path_(std::move(path)) {}
  [[nodiscard]] Status lock(int how) const;
  [[nodiscard]] Status check_ownership() const;

  UniqueFd fd_;
  std::filesystem::path path_;
};

}  // namespace drover::cli
