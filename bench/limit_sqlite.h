// What SQLite can do on this machine at best: bare loops over one table and one index, no leases, events or dispatch.
// The yardstick beside which Drover is measured in the same run.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace drover::bench {

enum class Sync : std::uint8_t { kFull, kNormal };

class SqliteLimit {
 public:
  // A new, empty database in that folder.
  SqliteLimit(const std::filesystem::path& folder, Sync sync);

  // Adds `count` waiting rows with a 200-byte payload, so many in one transaction.
  void insert(int count, int per_transaction);
  // Takes waiting rows in order, then marks them done, in two transactions each time. Returns how many it moved.
  int drain(int count, int per_transaction);

 private:
  struct CloseDatabase {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

  void execute(const std::string& sql);
  [[nodiscard]] Statement prepare(const char* sql);
  // Runs a statement that returns no row.
  void step(const Statement& statement);
  void check(int code);

  std::unique_ptr<sqlite3, CloseDatabase> database_;
  Statement begin_;
  Statement commit_;
};

}  // namespace drover::bench
