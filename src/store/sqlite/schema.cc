#include "store/sqlite/schema.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "base/check.h"
#include "base/log.h"
#include "embedded/sqlite.h"
#include "store/sqlite/epochs.h"

namespace drover::sqlite {
namespace {

// "DRVR": tells a database of ours from any other.
constexpr int kApplicationId = 0x44525652;

// kMigrations[i] leads from version i to i + 1.
constexpr std::array<std::string_view, 1> kMigrations{embedded::schema_v1_sql};
static_assert(kMigrations.size() == kSchemaVersion);

// A time before any that a monotonic clock shows.
constexpr std::int64_t kLongAgo = -(std::int64_t{1} << 60);

bool is_empty(Connection& db) {
  return db.number("SELECT count(*) FROM sqlite_master") == 0;
}

int stored_version(Connection& db) {
  Statement query = db.prepare("SELECT value FROM meta WHERE key = 'schema_version'");
  if (!query.step()) throw SqliteFailure(SQLITE_CORRUPT, "no schema version in table meta");
  const std::string text = query.text();
  int version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error != std::errc() || end != text.data() + text.size() || version < 1) {
    throw SqliteFailure(SQLITE_CORRUPT, "the schema version is not a number: " + text);
  }
  return version;
}

int read_version(Connection& db) {
  return is_empty(db) ? 0 : stored_version(db);
}

void refuse_newer(int version, int newest) {
  if (version <= newest) return;
  throw SqliteFailure(kNewerSchema, fmt::format("it has schema {}, this program knows {}", version, newest));
}

std::string meta(Connection& db, std::string_view key) {
  Statement query = db.prepare("SELECT value FROM meta WHERE key = ?1");
  return query.bind(key).step() ? query.text() : std::string();
}

void put_meta(Connection& db, std::string_view key, const std::string& value) {
  db.run("INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value", key,
         value);
}

bool is_of_file(Connection& db, const Home& home) {
  return home.file_id.empty() || meta(db, "file_id") == home.file_id;
}

void end_leases(Connection& db) {
  db.run("UPDATE task SET lease_until_mono = ?1, lease_renewed_mono = ?1 WHERE lease_until_mono IS NOT NULL", kLongAgo);
  db.run("DELETE FROM revoked_lease");
  db.run("UPDATE worker SET last_beat_mono = ?1", kLongAgo);
}

void migrate(Connection& db, int from, std::span<const std::string_view> migrations) {
  const RollbackGuard rollback(db);
  db.execute_script("BEGIN IMMEDIATE");
  for (const std::string_view script : migrations.subspan(static_cast<std::size_t>(from))) db.execute_script(script);
  db.run("UPDATE meta SET value = ?1 WHERE key = 'schema_version'", std::to_string(migrations.size()));
  db.execute_script(fmt::format("PRAGMA application_id = {}", kApplicationId));
  db.execute_script("COMMIT");
}

}  // namespace

Status prepare_schema(Connection& db, const std::string& path) {
  return prepare_schema(db, path, kMigrations);
}

Status prepare_schema(Connection& db, const std::string& path, std::span<const std::string_view> migrations) {
  const int newest = static_cast<int>(migrations.size());
  const std::int64_t application_id = db.number("PRAGMA application_id");
  if (application_id != kApplicationId && !is_empty(db)) {
    return fail(ErrorCode::kStoreDamaged, fmt::format("{} is a database of another program; name another file", path),
                "sqlite.open");
  }
  const int version = read_version(db);
  refuse_newer(version, newest);
  // Readers go on while one writes, and a commit is one append. Databases in memory have a mode of their own.
  db.execute_script("PRAGMA journal_mode = WAL");
  if (version == newest) return {};
  migrate(db, version, migrations);
  if (version > 0) {
    log_info("store", "the database was brought up to date",
             {{"path", path}, {"from", std::to_string(version)}, {"to", std::to_string(newest)}});
  }
  return {};
}

void check_version(Connection& db) {
  refuse_newer(stored_version(db), kSchemaVersion);
}

void put_probe(Connection& db, Time now) {
  put_meta(db, "probed_at", format_time(now));
}

bool is_current(Connection& db, const Home& home) {
  return db.number("PRAGMA application_id") == kApplicationId && read_version(db) == kSchemaVersion &&
         meta(db, "boot_id") == home.boot_id && is_of_file(db, home);
}

void adopt(Connection& db, const Home& home) {
  const RollbackGuard rollback(db);
  db.execute_script("BEGIN IMMEDIATE");
  const bool is_new = meta(db, "boot_id").empty();
  const bool is_rebooted = meta(db, "boot_id") != home.boot_id;
  const bool is_restored = !is_of_file(db, home);
  if (is_rebooted) end_leases(db);
  if (!is_new && (is_rebooted || is_restored)) {
    begin_epoch(db, is_restored ? Epoch::Cause::kRestored : Epoch::Cause::kRestarted);
  }
  put_meta(db, "boot_id", home.boot_id);
  if (!home.file_id.empty()) put_meta(db, "file_id", home.file_id);
  db.execute_script("COMMIT");
}

}  // namespace drover::sqlite
