// Where the database lies: its folder and file, made private, on a file system that can hold it.
#pragma once

#include <string>

#include "drover/error.h"

namespace drover::sqlite {

// Makes missing folders (0700) and the file (0600). Refuses network file systems, on which neither locks nor the shared
// memory of the write-ahead log work between machines.
[[nodiscard]] Status prepare_path(const std::string& path);

// Tells a file from every copy of it, on this machine and on others. Empty if that cannot be known.
[[nodiscard]] std::string file_id_of(const std::string& path);

}  // namespace drover::sqlite
