#include "store/sqlite/claim.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "base/planted_bug.h"
#include "core/lane.h"
#include "core/transition.h"
#include "embedded/sqlite.h"
#include "store/sqlite/gates.h"
#include "store/sqlite/keyed_claim.h"
#include "store/sqlite/lanes.h"
#include "store/sqlite/named_sql.h"
#include "store/sqlite/reads.h"
#include "store/sqlite/step_write.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kWaitingInLane = named_sql(embedded::claim_sql, "waiting_in_lane");
constexpr std::string_view kSetAside = named_sql(embedded::claim_sql, "set_aside");
constexpr std::string_view kScheduled = named_sql(embedded::claim_sql, "scheduled");
constexpr std::string_view kUnlist = named_sql(embedded::tasks_sql, "unlist");
constexpr std::string_view kLineState = named_sql(embedded::lanes_sql, "line_state");
constexpr std::string_view kUpdateLineState = named_sql(embedded::lanes_sql, "update_line_state");
constexpr std::string_view kInsertLineState = named_sql(embedded::lanes_sql, "insert_line_state");
constexpr std::string_view kPoolVisits = named_sql(embedded::lanes_sql, "pool_visits");
constexpr std::string_view kAddPoolVisit = named_sql(embedded::lanes_sql, "add_pool_visit");

// A line as a claim goes along.
struct ServedLine {
  Line line;
  std::string name;
  std::int64_t served = 0;
  std::int64_t turn = 0;
  std::optional<int> rank;  // its best; absent: it has no lane
  bool rank_is_known = false;
  bool set_aside = false;
  bool gave = false;  // something, in this claim
};

// Those of the serves, by name, each once.
std::vector<ServedLine> lines_of(std::span<const Serve> serves) {
  std::vector<ServedLine> lines;
  for (const Serve& serve : serves) {
    Line line{.queue = serve.queue, .type = serve.type};
    std::string name = line.name();
    lines.push_back({.line = std::move(line), .name = std::move(name)});
  }
  std::ranges::sort(lines, {}, &ServedLine::name);
  const auto repeated = std::ranges::unique(lines, {}, &ServedLine::name);
  lines.erase(repeated.begin(), repeated.end());
  return lines;
}

void read_state(Connection& db, ServedLine& line) {
  Statement query = db.prepare(kLineState);
  if (!query.bind(line.name).step()) return;
  line.served = query.integer();
  line.turn = query.integer();
}

struct FoundTask {
  Startable stored;
  TaskRecord record;
};

struct Found {
  std::vector<FoundTask> tasks;
  std::vector<std::int64_t> unreadable;  // seqs
  std::int64_t last_place = 0;           // of both
};

Found read_found(Statement& query, std::int64_t limit) {
  Found found;
  found.tasks.reserve(static_cast<std::size_t>(limit));
  while (query.step()) {
    Startable stored;
    stored.seq = query.integer();
    const std::int64_t place = query.integer();
    stored.held_bytes = query.integer();
    stored.last_run = query.maybe_text();
    std::optional<TaskRecord> record = read_or_log(query);
    found.last_place = place;
    if (record) {
      stored.state = record->task.state;
      found.tasks.push_back({std::move(stored), *std::move(record)});
    } else {
      found.unreadable.push_back(stored.seq);
    }
  }
  return found;
}

// A gate that refuses a lane, and when to look again.
struct Refusal {
  Gate* gate = nullptr;
  std::optional<Time> look_again;
};

class Claim {
 public:
  Claim(Transaction& transaction, const ClaimRequest& request, std::span<const LeaseId> lease_ids,
        const std::optional<ReservedSlots>& reserved);

  [[nodiscard]] Claimed run();

 private:
  [[nodiscard]] std::int64_t left() const { return request_.n - static_cast<std::int64_t>(claimed_.records.size()); }

  [[nodiscard]] ServedLine* choose_line();
  void find_rank(ServedLine& line);
  [[nodiscard]] bool is_turn_of_least_served();
  void visit(ServedLine& line);
  [[nodiscard]] std::optional<Lane> choose_lane(const ServedLine& line);
  [[nodiscard]] bool may_take_from(const Lane& lane) const;
  [[nodiscard]] bool is_reserved_against(const Lane& lane) const;
  [[nodiscard]] std::int64_t room_of_gates(const Lane& lane, Refusal& refusal);
  [[nodiscard]] std::int64_t how_many(const ServedLine& line, const Lane& lane, std::int64_t room);
  void take(ServedLine& line, Lane& lane, std::int64_t count);
  void note_served(ServedLine& line, const Lane& lane, std::int64_t count);
  void write_states();
  void start(std::span<FoundTask> tasks);
  void plant_ignored_run_at();

  Transaction& transaction_;
  Connection& db_;
  const ClaimRequest& request_;
  const std::span<const LeaseId> lease_ids_;
  const std::optional<ReservedSlots>& reserved_;
  const LeaseTimes times_;
  std::vector<ServedLine> lines_;
  std::string pool_;  // the names of the lines; empty if there is only one
  Shares shares_;
  int visits_ = 0;
  std::int64_t others_taken_ = 0;  // of a higher rank number than the reserved one
  Claimed claimed_;
};

Claim::Claim(Transaction& transaction, const ClaimRequest& request, std::span<const LeaseId> lease_ids,
             const std::optional<ReservedSlots>& reserved)
    : transaction_(transaction),
      db_(transaction.db()),
      request_(request),
      lease_ids_(lease_ids),
      reserved_(reserved),
      times_{transaction.mono() + request.lease, transaction.mono()},
      lines_(lines_of(request.serves)),
      shares_(transaction.db()) {
  claimed_.records.reserve(lease_ids_.size());
  for (ServedLine& line : lines_) read_state(db_, line);
  if (lines_.size() < 2) return;
  std::vector<std::string_view> names;
  for (const ServedLine& line : lines_) names.push_back(line.name);
  pool_ = fmt::to_string(fmt::join(names, ","));
}

Claimed Claim::run() {
  wake_gates(transaction_);
  while (left() > 0 && visits_ < kVisitsMax) {
    ServedLine* line = choose_line();
    if (line == nullptr) break;
    visit(*line);
  }
  write_states();
  shares_.write_clocks();
  transaction_.meter().lanes_visited += visits_;
  if (planted(PlantedBug::kClaimIgnoresRunAt)) plant_ignored_run_at();
  transaction_.gates().flush();
  claimed_.more = left() > 0 && (visits_ == kVisitsMax || is_any_gate_due(db_, transaction_.now()));
  return std::move(claimed_);
}

// ---- which line

ServedLine* Claim::choose_line() {
  const bool by_turn = is_turn_of_least_served();
  const auto order = [&](const ServedLine& line) { return std::tuple(by_turn ? 0 : *line.rank, line.turn); };
  ServedLine* best = nullptr;
  for (ServedLine& line : lines_) {
    if (line.set_aside) continue;
    find_rank(line);
    if (line.rank && (best == nullptr || order(line) < order(*best))) best = &line;
  }
  return best;
}

void Claim::find_rank(ServedLine& line) {
  if (line.rank_is_known) return;
  line.rank = best_rank(db_, line.line);
  line.rank_is_known = true;
}

// So that no queue starves another.
bool Claim::is_turn_of_least_served() {
  return !pool_.empty() && db_.number(kPoolVisits, pool_) % kOldestEvery == kOldestEvery - 1;
}

// ---- which lane

void Claim::visit(ServedLine& line) {
  std::optional<Lane> lane = choose_lane(line);
  if (!lane) {
    line.set_aside = true;
    return;
  }
  ++visits_;
  Refusal refusal;
  const std::int64_t room = room_of_gates(*lane, refusal);
  if (refusal.gate != nullptr) {
    park_lane(transaction_, *lane, *refusal.gate, refusal.look_again);
  } else {
    take(line, *lane, how_many(line, *lane, room));
  }
  for (ServedLine& other : lines_) {
    if (other.line.queue == line.line.queue) other.rank_is_known = false;
  }
}

bool is_turn_of_oldest(const ServedLine& line) {
  return line.served % kOldestEvery == kOldestEvery - 1;
}

std::optional<Lane> Claim::choose_lane(const ServedLine& line) {
  if (is_turn_of_oldest(line)) {
    std::optional<Lane> oldest = oldest_lane(db_, line.line);
    if (oldest && may_take_from(*oldest)) return oldest;
  }
  std::optional<Lane> first = first_lane(db_, line.line);
  if (first && !may_take_from(*first)) return std::nullopt;
  return first;
}

bool Claim::is_reserved_against(const Lane& lane) const {
  return reserved_ && lane.like.priority > reserved_->rank;
}

bool Claim::may_take_from(const Lane& lane) const {
  return !reserved_ || !is_reserved_against(lane) || others_taken_ < reserved_->n_others;
}

// How many tasks of the lane its gates let start; or the first of them that refuses.
std::int64_t Claim::room_of_gates(const Lane& lane, Refusal& refusal) {
  std::int64_t room = kRoomMax;
  const std::span<Gate* const> gates = transaction_.gates().of(lane.like);
  const BudgetAmounts& per_run = type_gate(gates).limits.per_run;
  for (Gate* gate : gates) {
    if (!gate->limits.limits_anything()) continue;
    const GateVerdict verdict = ask_gate(gate->limits, gate->use, lane.like.cost, transaction_.now(), per_run);
    room = std::min(room, verdict.room);
    if (room > 0) continue;
    refusal = {gate, verdict.look_again};
    return 0;
  }
  return room;
}

// ---- taking

std::int64_t Claim::how_many(const ServedLine& line, const Lane& lane, std::int64_t room) {
  std::int64_t count = std::min(left(), room);
  if (reserved_ && is_reserved_against(lane)) count = std::min(count, reserved_->n_others - others_taken_);
  const std::int64_t until_oldest = std::max<std::int64_t>(1, kOldestEvery - 1 - line.served % kOldestEvery);
  if (is_turn_of_oldest(line)) return 1;
  if (count > until_oldest && has_several_lanes(db_, line.line)) return until_oldest;
  return count;
}

void Claim::take(ServedLine& line, Lane& lane, std::int64_t count) {
  Statement query = db_.prepare(kWaitingInLane);
  Found found = read_found(query.bind(lane.id, count), count);
  query.reset();
  start(found.tasks);
  for (const std::int64_t seq : found.unreadable) db_.run(kSetAside, seq);
  const auto taken = static_cast<std::int64_t>(found.tasks.size());
  if (is_reserved_against(lane)) others_taken_ += taken;
  if (taken > 0) note_served(line, lane, taken);
  transaction_.lane_counts().add(lane.id, -taken - static_cast<std::int64_t>(found.unreadable.size()));
  if (!remove_tasks_up_to(transaction_, lane, std::max(found.last_place, lane.head))) return;
  Refusal refusal;
  static_cast<void>(room_of_gates(lane, refusal));
  if (refusal.gate != nullptr) park_lane(transaction_, lane, *refusal.gate, refusal.look_again);
}

void Claim::note_served(ServedLine& line, const Lane& lane, std::int64_t count) {
  const std::span<Gate* const> gates = transaction_.gates().of(lane.like);
  const BudgetAmounts& per_run = type_gate(gates).limits.per_run;
  for (Gate* gate : gates) {
    if (!gate->limits.limits_anything()) continue;
    gate->use = use_gate(gate->limits, std::move(gate->use), lane.like.cost, count, transaction_.now(), per_run);
    gate->has_spent = gate->has_spent || !gate->limits.budgets.empty();
    transaction_.gates().changed(*gate);
  }
  shares_.give(lane, count);
  line.served += count;
  if (!pool_.empty()) {
    line.turn = transaction_.next_turn();
    db_.run(kAddPoolVisit, pool_);
  }
  line.gave = true;
}

void Claim::write_states() {
  for (const ServedLine& line : lines_) {
    if (!line.gave) continue;
    db_.update_or_insert(kUpdateLineState, kInsertLineState, line.name, line.served, line.turn);
  }
}

void Claim::start(std::span<FoundTask> tasks) {
  for (FoundTask& task : tasks) {
    const trigger::Claim claim{lease_ids_[claimed_.records.size()], request_.worker_id};
    Result<Step> step = decide(std::move(task.record), claim, {.now = transaction_.now()});
    CHECK_MSG(step.has_value(), "a task that stands in line cannot be claimed");
    start_task(transaction_, task.stored, *step, times_);
    claimed_.records.push_back(std::move(step->next));
    claimed_.records.back().revision = step->expected_revision + 1;
    claimed_.records.back().kept = {.seq = task.stored.seq, .bytes = task.stored.held_bytes};
  }
}

// A planted bug: tasks whose time has not come are taken as well.
void Claim::plant_ignored_run_at() {
  for (const ServedLine& line : lines_) {
    Statement query = db_.prepare(kScheduled);
    Found found = read_found(query.bind(line.line.queue, left()), left());
    query.reset();
    for (FoundTask& task : found.tasks) task.stored.state = task.record.task.state = TaskState::kPending;
    start(found.tasks);
    for (const FoundTask& task : found.tasks) db_.run(kUnlist, task.stored.seq);
  }
}

}  // namespace

bool anything_ready(Connection& db, std::span<const Serve> serves, Time now) {
  if (is_any_gate_due(db, now) || planted(PlantedBug::kClaimIgnoresRunAt)) return true;
  return std::ranges::any_of(serves, [&](const Serve& serve) {
    return best_rank(db, {.queue = serve.queue, .type = serve.type}).has_value();
  });
}

Claimed claim_tasks(Transaction& transaction, const ClaimRequest& request, std::span<const LeaseId> lease_ids,
                    const std::optional<ReservedSlots>& reserved) {
  if (!request.claim_key) return Claim(transaction, request, lease_ids, reserved).run();
  const std::optional<KeyedClaim> kept = read_keyed_claim(transaction.db(), request.worker_id);
  if (!kept) return {.records = {}, .unknown_worker = true};
  if (is_repeat(request, *kept)) return claim_again(transaction, request, *kept);
  Claimed claimed = Claim(transaction, request, lease_ids, reserved).run();
  keep_claim(transaction, request, claimed);
  return claimed;
}

}  // namespace drover::sqlite
