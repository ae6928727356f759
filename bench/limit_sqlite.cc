#include "limit_sqlite.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace drover::bench {
namespace {

constexpr int kPayloadBytes = 200;
constexpr int kRunAt = 1'789'000'000;
constexpr int kRowsPerSecond = 100;  // so that the index has more than one key

constexpr const char* kTake =
    "UPDATE q SET state = 1, worker = 'w' WHERE id IN"
    " (SELECT id FROM q WHERE state = 0 AND run_at <= 2000000000 ORDER BY run_at, id LIMIT ?) RETURNING id, payload";

}  // namespace

SqliteLimit::SqliteLimit(const std::filesystem::path& folder, Sync sync) {
  const std::string path = (folder / "limit.db").string();
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  sqlite3* database = nullptr;
  const int opened = sqlite3_open(path.c_str(), &database);
  database_.reset(database);
  check(opened);
  execute("PRAGMA journal_mode = WAL");
  execute(fmt::format("PRAGMA synchronous = {}", sync == Sync::kFull ? "FULL" : "NORMAL"));
  execute("PRAGMA cache_size = -65536");
  execute("PRAGMA temp_store = 2");
  execute(
      "CREATE TABLE q(id INTEGER PRIMARY KEY, state INTEGER NOT NULL, run_at INTEGER NOT NULL, payload BLOB NOT NULL,"
      " result BLOB, worker TEXT)");
  execute("CREATE INDEX qi ON q(run_at, id) WHERE state = 0");
  begin_ = prepare("BEGIN IMMEDIATE");
  commit_ = prepare("COMMIT");
}

void SqliteLimit::check(int code) {
  if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
  throw std::runtime_error(fmt::format("SQLite: {}", sqlite3_errmsg(database_.get())));
}

void SqliteLimit::execute(const std::string& sql) {
  check(sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr));
}

SqliteLimit::Statement SqliteLimit::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  check(sqlite3_prepare_v2(database_.get(), sql, -1, &statement, nullptr));
  return Statement(statement);
}

void SqliteLimit::step(const Statement& statement) {
  check(sqlite3_step(statement.get()));
  check(sqlite3_reset(statement.get()));
}

void SqliteLimit::insert(int count, int batch) {
  const Statement add = prepare("INSERT INTO q(state, run_at, payload) VALUES(0, ?, ?)");
  const std::string payload(kPayloadBytes, 'x');
  for (int done = 0; done < count; done += batch) {
    step(begin_);
    for (int i = done; i < std::min(count, done + batch); ++i) {
      check(sqlite3_bind_int(add.get(), 1, kRunAt + i / kRowsPerSecond));
      check(sqlite3_bind_blob(add.get(), 2, payload.data(), kPayloadBytes, SQLITE_STATIC));
      step(add);
    }
    step(commit_);
  }
}

void SqliteLimit::drain(int count, int batch) {
  const Statement take = prepare(kTake);
  const Statement finish = prepare("UPDATE q SET state = 2, result = '1' WHERE id = ?");
  std::vector<sqlite3_int64> ids;
  int done = 0;
  while (done < count) {
    ids.clear();
    step(begin_);
    check(sqlite3_bind_int(take.get(), 1, batch));
    while (sqlite3_step(take.get()) == SQLITE_ROW) ids.push_back(sqlite3_column_int64(take.get(), 0));
    check(sqlite3_reset(take.get()));
    step(commit_);
    if (ids.empty()) throw std::runtime_error("the bare queue is empty too early");
    step(begin_);
    for (const sqlite3_int64 id : ids) {
      check(sqlite3_bind_int64(finish.get(), 1, id));
      step(finish);
    }
    step(commit_);
    done += static_cast<int>(ids.size());
  }
}

}  // namespace drover::bench
