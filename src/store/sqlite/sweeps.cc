#include "store/sqlite/sweeps.h"

#include <algorithm>

#include "base/log.h"
#include "embedded/sqlite.h"
#include "store/sqlite/fleet.h"
#include "store/sqlite/named_sql.h"
#include "store/sqlite/reads.h"
#include "store/sqlite/record_row.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kDue = named_sql(embedded::sweeps_sql, "due");
constexpr std::string_view kPastDeadline = named_sql(embedded::sweeps_sql, "past_deadline");
constexpr std::string_view kLapsed = named_sql(embedded::sweeps_sql, "lapsed");
constexpr std::string_view kSilent = named_sql(embedded::sweeps_sql, "silent");
constexpr std::string_view kCascades = named_sql(embedded::sweeps_sql, "cascades");
constexpr std::string_view kNextRunAt = named_sql(embedded::sweeps_sql, "next_run_at");
constexpr std::string_view kNextDeadline = named_sql(embedded::sweeps_sql, "next_deadline");
constexpr std::string_view kNextGate = named_sql(embedded::gates_sql, "next_wake");
constexpr std::string_view kNextQuestion = named_sql(embedded::questions_sql, "next_wake");
constexpr std::string_view kNextLapse = named_sql(embedded::sweeps_sql, "next_lapse");

void keep_soonest(std::optional<Millis>& soonest, Connection& db, std::string_view sql, Millis now) {
  Statement query = db.prepare(sql);
  if (!query.step()) return;
  const std::optional<std::int64_t> at = query.maybe_integer();
  if (!at) return;
  const Millis wait = std::max(Millis(0), Millis(*at) - now);
  soonest = std::min(soonest.value_or(wait), wait);
}

}  // namespace

std::vector<TaskRecord> read_due(Connection& db, const Clock& clock, int limit) {
  Statement query = db.prepare(kDue);
  query.bind(clock.wall(), limit);
  return read_heads(query);
}

std::vector<TaskRecord> read_past_deadline(Connection& db, const Clock& clock, int limit) {
  Statement query = db.prepare(kPastDeadline);
  query.bind(clock.wall(), limit);
  std::vector<std::int64_t> seqs;
  while (query.step()) seqs.push_back(query.integer());
  return read_records(db, seqs);
}

std::vector<TaskRecord> read_lapsed(Connection& db, const Clock& clock, std::optional<Millis> silent_for, int limit) {
  const Millis now = clock.mono().since_origin;
  Statement query = db.prepare(silent_for ? kSilent : kLapsed);
  query.bind(now, limit);
  if (silent_for) query.bind(now - *silent_for);
  return read_heads(query);
}

std::vector<TaskRecord> read_cascades(Connection& db, int limit) {
  Statement query = db.prepare(kCascades);
  query.bind(limit);
  return read_heads(query);
}

std::optional<Millis> read_next_wake(Connection& db, const Clock& clock) {
  std::optional<Millis> soonest;
  const Millis wall = clock.wall().time_since_epoch();
  keep_soonest(soonest, db, kNextRunAt, wall);
  keep_soonest(soonest, db, kNextDeadline, wall);
  keep_soonest(soonest, db, kNextGate, wall);
  keep_soonest(soonest, db, kNextQuestion, wall);
  keep_soonest(soonest, db, kNextLapse, clock.mono().since_origin);
  if (!read_cascades(db, 1).empty() || is_any_document_due(db)) soonest = Millis(0);
  return soonest;
}

}  // namespace drover::sqlite
