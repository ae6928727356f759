#include "store/sqlite/gate_rows.h"

#include "core/gate_name.h"
#include "core/lane.h"
#include "embedded/sqlite.h"
#include "store/sqlite/named_sql.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kRead = named_sql(embedded::gates_sql, "read");
constexpr std::string_view kPut = named_sql(embedded::gates_sql, "put");
constexpr std::string_view kDelete = named_sql(embedded::gates_sql, "delete");
constexpr std::string_view kSpendOf = named_sql(embedded::spend_sql, "of_gate");
constexpr std::string_view kPutSpend = named_sql(embedded::spend_sql, "put");
constexpr std::string_view kDeleteSpend = named_sql(embedded::spend_sql, "delete");

GateRecord parse_record(const std::string& json) {
  if (json.empty()) return {};
  Result<GateRecord> record = gate_from_json(json);
  if (!record) throw SqliteFailure(SQLITE_CORRUPT, "unreadable gate: " + record.error().message);
  return *std::move(record);
}

bool is_worth_a_row(const Gate& gate) {
  return gate.record.revision != 0 || gate.use.in_use != 0 || gate.use.rate_at_us != 0 || gate.wake_at ||
         !gate.cursor.empty();
}

bool have_same_gates(const Task& a, const Task& b) {
  return a.queue == b.queue && a.type == b.type && a.owner == b.owner && a.gates == b.gates;
}

}  // namespace

Gate& GateRows::get(const std::string& name) {
  const auto found = gates_.find(name);
  if (found != gates_.end()) return found->second;
  Gate gate = read(name);
  gate.limits = limits_in_force(gate.record);
  if (!gate.limits.budgets.empty()) read_spend(gate);
  return gates_.emplace(name, std::move(gate)).first->second;
}

GateLimits GateRows::limits_in_force(const GateRecord& record) {
  if (record.revision != 0) return limits_of(record);
  if (record.name == kOtherOwnersGate) return {};
  if (subject_of(record.name, GateKind::kOwner)) return get(std::string(kOtherOwnersGate)).limits;
  return {.closed_until = std::nullopt, .permits = default_permits(record.name)};
}

Gate GateRows::read(const std::string& name) {
  Gate gate;
  Statement query = db_.prepare(kRead);
  if (query.bind(name).step()) {
    const std::int64_t revision = query.integer();
    gate.record = parse_record(query.text());
    gate.record.revision = revision;
    gate.use.in_use = query.integer();
    gate.use.rate_at_us = query.integer();
    gate.wake_at = query.maybe_time();
    gate.cursor = query.text();
  }
  gate.record.name = name;
  return gate;
}

std::span<Gate* const> GateRows::of(const Task& task) {
  if (!last_gates_.empty() && have_same_gates(task, last_)) return last_gates_;
  last_gates_.clear();
  for (const std::string& name : gates_of(task)) last_gates_.push_back(&get(name));
  last_.queue = task.queue;
  last_.type = task.type;
  last_.owner = task.owner;
  last_.gates = task.gates;
  return last_gates_;
}

void GateRows::read_spend(Gate& gate) {
  const std::vector<BudgetLimit>& limits = gate.limits.budgets;
  gate.use.budgets = {.spent = std::vector<std::int64_t>(limits.size())};
  Statement query = db_.prepare(kSpendOf);
  query.bind(gate.name());
  while (query.step()) {
    const auto unit = parse_budget_unit(query.text());
    const std::string period = query.text();
    const std::int64_t amount = query.integer();
    if (!unit) continue;  // fsck tells of it
    if (period.empty()) amount_in(gate.use.budgets.aside, *unit) = amount;
    for (std::size_t i = 0; i < limits.size(); ++i) {
      if (limits[i].unit == *unit && limits[i].period == period) gate.use.budgets.spent[i] = amount;
    }
  }
}

void GateRows::read_spends() {
  for (auto& [name, gate] : gates_) {
    if (!gate.limits.budgets.empty()) read_spend(gate);
  }
}

void GateRows::write_spend(const Gate& gate) {
  const auto put = [&](BudgetUnit unit, const std::string& period, std::int64_t amount) {
    if (amount == 0) return db_.run(kDeleteSpend, gate.name(), name_of(unit), period);
    db_.run(kPutSpend, gate.name(), name_of(unit), period, amount);
  };
  for (std::size_t i = 0; i < gate.limits.budgets.size(); ++i) {
    const BudgetLimit& limit = gate.limits.budgets[i];
    put(limit.unit, limit.period, gate.use.budgets.spent[i]);
    put(limit.unit, "", amount_in(gate.use.budgets.aside, limit.unit));
  }
}

void GateRows::flush() {
  for (Gate* gate : changed_) write(*gate);
  changed_.clear();
}

void GateRows::write(Gate& gate) {
  if (std::exchange(gate.has_spent, false)) write_spend(gate);
  if (!is_worth_a_row(gate)) return db_.run(kDelete, gate.name());
  const JsonText record = gate.record.revision != 0 ? gate_to_json(gate.record) : JsonText();
  db_.run(kPut, gate.name(), gate.record.revision, record, gate.use.in_use, gate.use.rate_at_us, gate.wake_at,
          gate.cursor);
}

void GateRows::clear() {
  gates_.clear();
  changed_.clear();
  last_gates_.clear();
}

}  // namespace drover::sqlite
