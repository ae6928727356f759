// The side files of a store on a real file: PATH-lock, PATH-bell and PATH-ballast.
#pragma once

#include <memory>
#include <string>

#include "store/sqlite/side_files.h"

namespace drover::sqlite {

// Opens or creates the lock and the bell (0600); the ballast waits for restore_ballast().
[[nodiscard]] Result<std::unique_ptr<SideFiles>> open_side_files(const std::string& path, std::int64_t ballast_bytes);

}  // namespace drover::sqlite
