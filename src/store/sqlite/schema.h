// The schema of the database: made when it is new, brought up to date when it is older, refused when it is newer.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "drover/error.h"
#include "store/sqlite/connection.h"

namespace drover::sqlite {

inline constexpr int kSchemaVersion = 1;

// Within a transaction, before anything else is read: throws kNewerSchema if a newer program has moved the schema on.
void check_version(Connection& db);

// Writes when it was last tried whether the database can be written.
void put_probe(Connection& db, Time now);

// Where a database lives: on one machine from a boot to the next, and in one file.
struct Home {
  std::string boot_id;
  std::string file_id;  // empty if it has none
};

// Whether neither of the following has anything to do. Needs no lock.
[[nodiscard]] bool is_current(Connection& db, const Home& home);

// Under the lock. In one transaction, so that an interrupted upgrade leaves the old schema with all its data.
[[nodiscard]] Status prepare_schema(Connection& db, const std::string& path);
// The same with these scripts, of which number i leads from version i to i + 1.
[[nodiscard]] Status prepare_schema(Connection& db, const std::string& path,
                                    std::span<const std::string_view> migrations);

// Under the lock. Monotonic times of an earlier boot mean nothing: every lease of it has lapsed and every worker is
// silent. And what was acknowledged before may be gone, after a power cut or because this is an older copy: whoever had
// seen more finds out by the epoch that begins (docs/internals/store-epochs.md).
void adopt(Connection& db, const Home& home);

}  // namespace drover::sqlite
