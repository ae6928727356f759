// What SQLite can do at best: bare loops over one table and one index, no leases, events or dispatch.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "limit.h"

namespace drover::bench {

enum class Sync : std::uint8_t { kFull, kNormal };

class SqliteLimit final : public Limit {
 public:
  // A new, empty database in that folder.
  SqliteLimit(const std::filesystem::path& folder, Sync sync);

  // A batch is one transaction; when draining two, one to take and one to mark.
  void insert(int count, int batch) override;
  void drain(int count, int batch) override;

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
