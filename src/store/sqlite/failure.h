// What the outside makes of a failed call of SQLite.
#pragma once

#include <string_view>
#include <utility>

#include "drover/error.h"
#include "store/sqlite/connection.h"

namespace drover::sqlite {

[[nodiscard]] Error to_error(const SqliteFailure& failure, std::string_view operation);
[[nodiscard]] bool is_disk_full(const SqliteFailure& failure);
// An fsync failed: nothing that was written before it can be trusted to be on disk.
[[nodiscard]] bool is_sync_failure(const SqliteFailure& failure);

// Runs `body` and turns a failure of SQLite into an Error.
template <class Body>
[[nodiscard]] auto guarded(std::string_view operation, Body&& body) -> Result<decltype(body())> {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      std::forward<Body>(body)();
      return {};
    } else {
      return std::forward<Body>(body)();
    }
  } catch (const SqliteFailure& failure) {
    return std::unexpected(to_error(failure, operation));
  }
}

}  // namespace drover::sqlite
