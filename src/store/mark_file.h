// The file in which a mark outlives its process.
#pragma once

#include <optional>
#include <string>

#include "core/epoch.h"
#include "drover/error.h"

namespace drover {

// In the user's state folder; empty if there is none.
[[nodiscard]] std::string default_marks_folder();

class MarkFile {
 public:
  // Nothing is made before the first write.
  explicit MarkFile(std::string path) : path_(std::move(path)) {}

  // None if there is no such file, or if it cannot be understood: then nothing is known.
  [[nodiscard]] std::optional<Mark> read() const;
  // Raises what is stored to this mark, on disk when it returns. What another process has stored stays if it is
  // further. Its folder is made if it is missing (0700).
  [[nodiscard]] Status raise(const Mark& mark) const;

 private:
  std::string path_;
};

}  // namespace drover
