// A store and an engine in a folder of their own, and the tasks that measurements put into it.
#pragma once

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "limit_sqlite.h"
#include "store/sqlite/sqlite_store.h"

namespace drover::bench {

inline constexpr std::string_view kQueue = "bench";
inline constexpr std::string_view kWorker = "bench";

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(to_string(result.error()));
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// Opens the store at that path, which may exist.
[[nodiscard]] std::unique_ptr<Store> open_store(const std::string& path, Sync sync);
// Where a new store in an emptied `folder` goes.
[[nodiscard]] std::string fresh_store_path(const std::filesystem::path& folder);

// A task with a 200-byte payload. Owners take turns, so that none reaches its limit of waiting tasks.
[[nodiscard]] TaskSpec sample_task(int number);

void fill(Engine& engine, int count);
// Claims and completes `count` tasks in batches of 100.
void drain(Engine& engine, int count);

}  // namespace drover::bench
