#include "engine/open.h"

#include <fmt/format.h>

#include <optional>

#include "base/try.h"
#include "drover/open.h"
#include "remote/remote_administration.h"
#include "remote/remote_queue.h"
#include "store/mark_keeper.h"
#include "store/redis/redis_store.h"
#include "store/sqlite/sqlite_store.h"

namespace drover {

namespace {

constexpr std::string_view kSqlitePrefix = "sqlite:";

Result<std::unique_ptr<Store>> open_store(const std::string& url) {
  if (url == "memory:") return open_sqlite(SqliteOptions{});
  if (url.starts_with(kSqlitePrefix)) {
    SqliteOptions options;
    options.path = url.substr(kSqlitePrefix.size());
    if (options.path.empty())
      return fail(ErrorCode::kInvalidArgument, "sqlite: needs a path, as in sqlite:.drover/drover.db");
    return open_sqlite(std::move(options));
  }
  if (url.starts_with("redis")) {
    auto address = TRY(redis::parse_address(url));
    RedisOptions options;
    options.address = std::move(address);
    options.mark_path = default_mark_path(options.address);
    return open_redis(std::move(options));
  }
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("\"{}\" is not a store URL; use sqlite:PATH, memory:, redis://HOST:PORT or http://HOST:PORT", url));
}

}  // namespace

bool is_server(std::string_view url) {
  return url.starts_with("http://") || url.starts_with("https://") || url.starts_with("unix:");
}

Result<std::unique_ptr<OpenedQueue>> open_queue(const std::string& url, const std::string& token) {
  if (is_server(url)) {
    RemoteOptions options{.url = url, .token = token};
    if (const std::string folder = default_marks_folder(); !folder.empty()) {
      options.marks = std::make_shared<FileMarkBook>(folder);
    }
    auto remote = TRY(open_remote(options));
    auto administration = TRY(open_remote_administration(options));
    return std::make_unique<OpenedQueue>(std::move(remote), std::move(administration));
  }
  auto store = TRY(open_store(url));
  return std::make_unique<OpenedQueue>(std::move(store), system_rng());
}

Result<std::shared_ptr<TaskQueue>> open_task_queue(const std::string& url, Upkeep upkeep, const std::string& token) {
  struct Owned {
    std::unique_ptr<OpenedQueue> opened;
    std::optional<UpkeepThread> sweepers;  // ends before what it sweeps
  };
  auto opened = TRY(open_queue(url, token));
  auto owned = std::make_shared<Owned>(std::move(opened));
  if (upkeep == Upkeep::kBackground) owned->sweepers.emplace(*owned->opened);
  TaskQueue* queue = &owned->opened->queue();
  return std::shared_ptr<TaskQueue>(std::move(owned), queue);
}

}  // namespace drover
