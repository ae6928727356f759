#include "store/sqlite/ledger.h"

#include "embedded/sqlite.h"
#include "store/sqlite/named_sql.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kBook = named_sql(embedded::ledger_sql, "book");
constexpr std::string_view kDays = named_sql(embedded::ledger_sql, "days");
constexpr std::string_view kOfDay = named_sql(embedded::ledger_sql, "of_day");
constexpr std::string_view kForgetBefore = named_sql(embedded::ledger_sql, "forget_before");

}  // namespace

void book(Connection& db, std::span<const LedgerEntry> entries) {
  for (const auto& [key, amounts] : entries) {
    Statement insert = db.prepare(kBook);
    insert.bind(key.day, key.owner, key.type, key.runner, key.model, key.error_class);
    for (const std::int64_t number : numbers_of(amounts)) insert.bind(number);
    insert.run();
  }
}

std::vector<std::string> ledger_days(Connection& db) {
  std::vector<std::string> days;
  Statement query = db.prepare(kDays);
  while (query.step()) days.push_back(query.text());
  return days;
}

std::vector<LedgerEntry> ledger_of(Connection& db, const std::string& day) {
  std::vector<LedgerEntry> entries;
  Statement query = db.prepare(kOfDay);
  query.bind(day);
  while (query.step()) {
    LedgerKey key;
    for (std::string* name : {&key.day, &key.owner, &key.type, &key.runner, &key.model, &key.error_class}) {
      *name = query.text();
    }
    AmountNumbers numbers{};
    for (std::int64_t& number : numbers) number = query.integer();
    entries.push_back({.key = std::move(key), .amounts = amounts_of(numbers)});
  }
  return entries;
}

void forget_ledger_before(Connection& db, const std::string& day) {
  db.run(kForgetBefore, day);
}

}  // namespace drover::sqlite
