// Gathers what SQLite writes to its write-ahead log. SQLite writes the head and the page of every frame by themselves,
// which takes the kernel twice as long as a few large writes of the same bytes.
//
// What is gathered is written before the log is synced, read, measured, cut or closed, and before SQLite's lock for
// writing is given up: what others have written to the log since is never overwritten. That is soon enough where every
// commit syncs the log (synchronous = FULL): SQLite tells nobody of a commit before that.
#pragma once

#include <sqlite3.h>

#include <string>

namespace drover::sqlite {

// A VFS over another one, for one connection. Registered with SQLite under its own name while it lives; its connection
// must be closed before it goes, and the other VFS must outlive it.
class WalGather {
 public:
  // Over SQLite's default if the name is empty. Throws SqliteFailure.
  explicit WalGather(const std::string& base_name);
  ~WalGather();
  WalGather(const WalGather&) = delete;
  WalGather& operator=(const WalGather&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  // Until then every write goes through. Only when the connection is at synchronous = FULL.
  void start() { gathers_ = true; }

 private:
  friend struct WalGatherMethods;

  // Those of the database's file, but that its lock for writing is watched.
  struct DatabaseMethods {
    sqlite3_io_methods methods;  // first: SQLite sees only this
    const sqlite3_io_methods* real;
    WalGather* gather;
  };

  sqlite3_vfs* base_;
  std::string name_;
  sqlite3_vfs vfs_{};
  DatabaseMethods database_{};
  sqlite3_file* log_ = nullptr;  // while it is open
  bool gathers_ = false;
};

}  // namespace drover::sqlite
