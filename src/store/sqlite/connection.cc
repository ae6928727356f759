#include "store/sqlite/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"

namespace drover::sqlite {
namespace {

constexpr std::size_t kLargeBytes = 4'096;

// SQLite's own statistics take a mutex for every allocation, and nobody reads them. Only before its first use.
void forgo_statistics() {
  static const int kResult = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  static_cast<void>(kResult);
}

sqlite3_stmt* compile(sqlite3* db, std::string_view sql, unsigned flags) {
  sqlite3_stmt* stmt = nullptr;
  const int result = sqlite3_prepare_v3(db, sql.data(), static_cast<int>(sql.size()), flags, &stmt, nullptr);
  if (result != SQLITE_OK) throw_failure(db, result, sql.substr(0, 80));
  CHECK_MSG(stmt != nullptr, "an empty statement");
  return stmt;
}

}  // namespace

void throw_failure(sqlite3* db, int result, std::string_view what) {
  const int extended = db != nullptr ? sqlite3_extended_errcode(db) : result;
  const int code = (extended & 0xff) == (result & 0xff) ? extended : result;
  const char* text = db != nullptr && code == extended ? sqlite3_errmsg(db) : sqlite3_errstr(result);
  // Which statement happens to meet a damaged page says nothing.
  if ((code & 0xff) == SQLITE_CORRUPT) throw SqliteFailure(code, text);
  throw SqliteFailure(code, fmt::format("{} ({}, in: {})", text, code, what));
}

Statement::Statement(sqlite3* db, Cached* cached, std::int64_t* vm_steps)
    : db_(db), cached_(cached), vm_steps_(vm_steps) {
  if (cached->on_loan) {
    own_ = std::make_unique<Cached>(compile(db, sqlite3_sql(cached->stmt), 0));
    cached_ = own_.get();
  }
  cached_->on_loan = true;
  stmt_ = cached_->stmt;
}

Statement::~Statement() {
  if (vm_steps_ != nullptr) *vm_steps_ += sqlite3_stmt_status(stmt_, SQLITE_STMTSTATUS_VM_STEP, 1);
  // A failed step has been reported by step(); reset only repeats its code.
  sqlite3_reset(stmt_);
  // Small values stay bound, in memory that the next ones use again; bind() is always called for all of them.
  if (holds_large_) sqlite3_clear_bindings(stmt_);
  cached_->on_loan = false;
}

bool Statement::step() {
  CHECK(bound_ == sqlite3_bind_parameter_count(stmt_));
  column_ = 0;
  const int result = sqlite3_step(stmt_);
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) throw_failure(db_, result, std::string_view(sqlite3_sql(stmt_)).substr(0, 80));
  return false;
}

void Statement::run() {
  while (step()) {
  }
}

void Statement::reset() {
  sqlite3_reset(stmt_);
  bound_ = 0;
}

void Statement::check(int result) {
  if (result != SQLITE_OK) throw_failure(db_, result, "bind");
}

void Statement::put(std::int64_t value) {
  check(sqlite3_bind_int64(stmt_, ++bound_, value));
}

void Statement::put(std::nullptr_t) {
  check(sqlite3_bind_null(stmt_, ++bound_));
}

void Statement::put(std::string_view value) {
  holds_large_ = holds_large_ || value.size() > kLargeBytes;
  // A null pointer would bind null instead of the empty text.
  const char* data = value.empty() ? "" : value.data();
  check(sqlite3_bind_text64(stmt_, ++bound_, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::put(std::span<const std::uint8_t> bytes) {
  check(bytes.empty() ? sqlite3_bind_zeroblob(stmt_, ++bound_, 0)
                      : sqlite3_bind_blob64(stmt_, ++bound_, bytes.data(), bytes.size(), SQLITE_TRANSIENT));
}

void Statement::bind_pointer(void* value, const char* type) {
  check(sqlite3_bind_pointer(stmt_, ++bound_, value, type, nullptr));
}

void Statement::put(const LeaseId& id) {
  if (id.is_none()) {
    put(nullptr);
  } else {
    put(std::span<const std::uint8_t>(id.bytes()));
  }
}

std::int64_t Statement::integer() {
  return sqlite3_column_int64(stmt_, column_++);
}

std::span<const std::uint8_t> Statement::bytes() {
  const int column = column_++;
  const auto* data = static_cast<const std::uint8_t*>(sqlite3_column_blob(stmt_, column));
  const int size = sqlite3_column_bytes(stmt_, column);
  return {data, static_cast<std::size_t>(size)};
}

std::string Statement::text() {
  const auto data = bytes();
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

template <class Id>
Id Statement::sixteen_bytes() {
  const auto data = bytes();
  typename Id::Bytes value{};
  if (data.size() != value.size()) throw SqliteFailure(SQLITE_CORRUPT, "an id that is not 16 bytes long");
  std::memcpy(value.data(), data.data(), value.size());
  return Id(value);
}

TaskId Statement::task_id() {
  return sixteen_bytes<TaskId>();
}

LeaseId Statement::lease_id() {
  return skip_null() ? LeaseId() : sixteen_bytes<LeaseId>();
}

bool Statement::skip_null() {
  if (sqlite3_column_type(stmt_, column_) != SQLITE_NULL) return false;
  ++column_;
  return true;
}

std::optional<std::int64_t> Statement::maybe_integer() {
  if (skip_null()) return std::nullopt;
  return integer();
}

std::optional<int> Statement::maybe_small() {
  if (skip_null()) return std::nullopt;
  return small();
}

std::optional<std::string> Statement::maybe_text() {
  if (skip_null()) return std::nullopt;
  return text();
}

std::optional<TaskId> Statement::maybe_task_id() {
  if (skip_null()) return std::nullopt;
  return task_id();
}

std::optional<Time> Statement::maybe_time() {
  if (skip_null()) return std::nullopt;
  return time();
}

Connection::Connection(const ConnectionOptions& options) : vm_steps_(options.vm_steps) {
  forgo_statistics();
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const char* vfs = options.vfs.empty() ? nullptr : options.vfs.c_str();
  const int result = sqlite3_open_v2(options.path.c_str(), &db_, flags, vfs);
  if (result != SQLITE_OK) {
    const std::string text = db_ != nullptr ? sqlite3_errmsg(db_) : sqlite3_errstr(result);
    sqlite3_close(db_);
    throw SqliteFailure(result, text);
  }
  sqlite3_busy_timeout(db_, static_cast<int>(options.busy_wait.count()));
  // Checkpoints are the store's, under its lock: none of SQLite's own accord, neither after a commit nor at the close.
  sqlite3_wal_autocheckpoint(db_, 0);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
}

Connection::~Connection() {
  statements_.clear();
  const int result = sqlite3_close(db_);
  CHECK_MSG(result == SQLITE_OK, "a statement outlives its connection");
}

RollbackGuard::~RollbackGuard() {
  if (!db_.in_transaction()) return;
  try {
    db_.run("ROLLBACK");
  } catch (const SqliteFailure&) {
    // Nothing is left to do: the connection is of no use then, and says so at the next call.
  }
}

Statement Connection::prepare(std::string_view sql) {
  auto& cached = statements_[sql.data()];
  if (!cached) cached = std::make_unique<Statement::Cached>(compile(db_, sql, SQLITE_PREPARE_PERSISTENT));
  return {db_, cached.get(), vm_steps_};
}

std::string Connection::beginning_of(const char* table, const char* column, std::int64_t row, std::size_t bytes_max) {
  sqlite3_blob* blob = nullptr;
  const int opened = sqlite3_blob_open(db_, "main", table, column, row, 0, &blob);
  if (opened != SQLITE_OK) throw_failure(db_, opened, column);
  const std::unique_ptr<sqlite3_blob, int (*)(sqlite3_blob*)> owner(blob, sqlite3_blob_close);
  std::string text(std::min(bytes_max, static_cast<std::size_t>(sqlite3_blob_bytes(blob))), '\0');
  const int read = sqlite3_blob_read(blob, text.data(), static_cast<int>(text.size()), 0);
  if (read != SQLITE_OK) throw_failure(db_, read, column);
  return text;
}

void Connection::execute_script(std::string_view script) {
  const char* next = script.data();
  const char* const end = script.data() + script.size();
  while (next != end) {
    sqlite3_stmt* stmt = nullptr;
    const char* tail = nullptr;
    const int prepared = sqlite3_prepare_v2(db_, next, static_cast<int>(end - next), &stmt, &tail);
    if (prepared != SQLITE_OK) throw_failure(db_, prepared, "a script");
    const Statement::Cached owner(stmt);
    next = tail;
    if (stmt == nullptr) continue;  // only white space and comments were left
    int result = SQLITE_ROW;
    while (result == SQLITE_ROW) result = sqlite3_step(stmt);
    if (result != SQLITE_DONE) throw_failure(db_, result, std::string_view(sqlite3_sql(stmt)).substr(0, 80));
  }
}

}  // namespace drover::sqlite
