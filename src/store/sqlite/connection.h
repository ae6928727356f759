// SQLite's C interface with owners for its handles.
//
// Inside this folder a failed call of SQLite throws SqliteFailure; the verbs of the store turn it into an Error in one
// place (failure.h), so that every statement in between reads straight. Not thread-safe: one thread at a time per
// connection.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "drover/ids.h"
#include "drover/time.h"

namespace drover::sqlite {

// A code of our own beside SQLite's: the database is of a newer program.
inline constexpr int kNewerSchema = SQLITE_SCHEMA | (0xff << 8);

class SqliteFailure : public std::exception {
 public:
  SqliteFailure(int extended_code, std::string text) : code_(extended_code), text_(std::move(text)) {}
  [[nodiscard]] int code() const { return code_; }  // extended
  [[nodiscard]] int primary_code() const { return code_ & 0xff; }
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  int code_;
  std::string text_;
};

// A prepared statement on loan from its connection: bind in order, step, read columns in order. Goes back when it ends.
class Statement {
 public:
  struct Cached;

  Statement(sqlite3* db, Cached* cached, std::int64_t* vm_steps);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  template <class... Values>
  Statement& bind(const Values&... values) {
    (put(values), ...);
    return *this;
  }
  // For a table function of our own; `value` outlives the statement's run. Of no use once it has ended.
  void bind_pointer(void* value, const char* type);
  // True: there is a row, and reading starts at its first column. False: done.
  bool step();
  // For statements that return nothing.
  void run();
  // Ready to be bound and run again.
  void reset();

  [[nodiscard]] std::int64_t integer();
  [[nodiscard]] int small() { return static_cast<int>(integer()); }
  [[nodiscard]] bool flag() { return integer() != 0; }
  [[nodiscard]] std::string text();  // also of a blob
  [[nodiscard]] TaskId task_id();
  [[nodiscard]] Time time() { return Time(Millis(integer())); }
  [[nodiscard]] Millis millis() { return Millis(integer()); }
  [[nodiscard]] std::optional<Millis> maybe_millis() {
    const std::optional<std::int64_t> count = maybe_integer();
    return count ? std::optional(Millis(*count)) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::int64_t> maybe_integer();
  [[nodiscard]] std::optional<int> maybe_small();
  [[nodiscard]] std::optional<std::string> maybe_text();
  [[nodiscard]] std::optional<TaskId> maybe_task_id();
  [[nodiscard]] std::optional<Time> maybe_time();
  [[nodiscard]] LeaseId lease_id();  // none if null

 private:
  void put(std::int64_t value);
  void put(int value) { put(std::int64_t{value}); }
  void put(bool value) { put(std::int64_t{value}); }
  void put(std::nullptr_t);
  void put(std::string_view value);
  void put(const std::string& value) { put(std::string_view(value)); }
  void put(const char* value) { put(std::string_view(value)); }
  void put(std::span<const std::uint8_t> bytes);
  void put(const TaskId& id) { put(std::span<const std::uint8_t>(id.bytes())); }
  void put(const LeaseId& id);  // null if none
  void put(Time time) { put(std::int64_t{time.time_since_epoch().count()}); }
  void put(Millis duration) { put(std::int64_t{duration.count()}); }
  template <class T>
  void put(const std::optional<T>& value) {
    if (value) {
      put(*value);
    } else {
      put(nullptr);
    }
  }

  void check(int result);
  [[nodiscard]] bool skip_null();
  [[nodiscard]] std::span<const std::uint8_t> bytes();
  template <class Id>
  [[nodiscard]] Id sixteen_bytes();

  sqlite3* db_;
  Cached* cached_;
  std::int64_t* vm_steps_;
  std::unique_ptr<Cached> own_;  // when the cached one is on loan already
  sqlite3_stmt* stmt_;
  int bound_ = 0;
  int column_ = 0;
  bool holds_large_ = false;
};

struct ConnectionOptions {
  std::string path;  // ":memory:" for one in memory
  std::string vfs;
  Millis busy_wait{1'000};
  std::int64_t* vm_steps = nullptr;  // the steps of its statements are added here
};

class Connection {
 public:
  // Throws SqliteFailure.
  explicit Connection(const ConnectionOptions& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Statements are compiled once per connection; `sql` must be a literal or embedded text, which live for ever.
  [[nodiscard]] Statement prepare(std::string_view sql);
  template <class... Values>
  void run(std::string_view sql, const Values&... values) {
    prepare(sql).bind(values...).run();
  }
  // For a row that is nearly always there: cheaper than INSERT … ON CONFLICT, which begins with the insert.
  template <class... Values>
  void update_or_insert(std::string_view update, std::string_view insert, const Values&... values) {
    run(update, values...);
    if (changes() == 0) run(insert, values...);
  }
  // One number from a query that returns one row.
  template <class... Values>
  [[nodiscard]] std::int64_t number(std::string_view sql, const Values&... values) {
    Statement query = prepare(sql);
    query.bind(values...);
    return query.step() ? query.maybe_integer().value_or(0) : 0;
  }
  // The first bytes of a column of one row that holds a text or a blob, however long that is.
  [[nodiscard]] std::string beginning_of(const char* table, const char* column, std::int64_t row,
                                         std::size_t bytes_max);
  // Several statements, compiled each time.
  void execute_script(std::string_view script);

  [[nodiscard]] int changes() const { return sqlite3_changes(db_); }
  // Of the row that was inserted last.
  [[nodiscard]] std::int64_t last_row_id() const { return sqlite3_last_insert_rowid(db_); }
  [[nodiscard]] bool in_transaction() const { return sqlite3_get_autocommit(db_) == 0; }
  [[nodiscard]] sqlite3* handle() { return db_; }

 private:
  sqlite3* db_ = nullptr;
  std::int64_t* const vm_steps_;
  std::unordered_map<const char*, std::unique_ptr<Statement::Cached>> statements_;  // by where the text is
};

// Whatever transaction is still open on the connection when this ends is rolled back.
class RollbackGuard {
 public:
  explicit RollbackGuard(Connection& db) : db_(db) {}
  ~RollbackGuard();
  RollbackGuard(const RollbackGuard&) = delete;
  RollbackGuard& operator=(const RollbackGuard&) = delete;

 private:
  Connection& db_;
};

struct Statement::Cached {
  sqlite3_stmt* stmt = nullptr;
  bool on_loan = false;

  explicit Cached(sqlite3_stmt* statement) : stmt(statement) {}
  ~Cached() { sqlite3_finalize(stmt); }
  Cached(const Cached&) = delete;
  Cached& operator=(const Cached&) = delete;
};

[[noreturn]] void throw_failure(sqlite3* db, int result, std::string_view what);

}  // namespace drover::sqlite
