#include "store/sqlite/fsck.h"

#include "embedded/sqlite.h"

namespace drover::sqlite {
namespace {

// What SQLite itself has to say of its pages, indexes and constraints.
void check_integrity(Connection& db, std::vector<Finding>& findings) {
  Statement query = db.prepare("PRAGMA integrity_check");
  while (query.step()) {
    std::string text = query.text();
    if (text != "ok") findings.push_back({"database_damaged", std::move(text)});
  }
}

}  // namespace

std::vector<Finding> check_database(Connection& db) {
  std::vector<Finding> findings;
  check_integrity(db, findings);
  return findings;
}

std::vector<Finding> repair_database(Transaction& transaction) {
  return check_database(transaction.db());
}

}  // namespace drover::sqlite
