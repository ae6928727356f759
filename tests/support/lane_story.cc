#include "support/lane_story.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/rng.h"
#include "core/lane.h"
#include "core/transition.h"
#include "support/lane_model.h"
#include "support/must.h"

namespace drover::test {
namespace {

constexpr int kFsckEvery = 100;
constexpr std::size_t kTasksMax = 80;

std::string text_of(const std::vector<TaskId>& ids) {
  std::string text;
  for (const TaskId& id : ids) text += " " + id.to_string();
  return text;
}

class Story {
 public:
  Story(Store& store, ManualClock& clock, std::uint64_t seed) : store_(store), clock_(clock), rng_(seed) {}

  std::optional<std::string> tell(int operations);

 private:
  // ---- chance
  std::uint64_t below(std::uint64_t bound) { return rng_.below(bound); }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class T, std::size_t n>
  T any_of(const std::array<T, n>& items) {
    return items[below(n)];
  }
  std::string any_queue() { return any_of<std::string>(std::array<std::string, 3>{"a", "b", "c"}); }
  std::string any_type() { return any_of<std::string>(std::array<std::string, 2>{"x", "y"}); }
  std::string any_owner() { return any_of<std::string>(std::array<std::string, 3>{"ann", "bob", "cem"}); }
  std::string any_gate();
  std::optional<TaskId> any_task(bool running);
  TaskId new_id();
  LeaseId new_lease();

  // ---- operations
  void operate();
  void add();
  void claim();
  void end_one();
  void cancel_one();
  void set_gate();
  void set_weights();
  void wake();
  Step decided(const TaskId& id, const Trigger& trigger);
  void apply(StepGroup group);

  // ---- what must be so, whatever the model says
  void check_claim(const ClaimRequest& request, const std::optional<ReservedSlots>& reserved, const Claimed& claimed);
  void check_permits();
  void check_position();
  void check_fsck();
  void wrong(std::string what) {
    if (!wrong_) wrong_ = std::move(what);
  }

  Store& store_;
  ManualClock& clock_;
  SeededRng rng_;
  LaneModel model_;
  std::uint64_t last_id_ = 0;
  std::int64_t config_version_ = 0;
  std::optional<std::string> wrong_;
};

std::optional<std::string> Story::tell(int operations) {
  for (int i = 1; i <= operations && !wrong_; ++i) {
    operate();
    check_permits();
    check_position();
    if (i % kFsckEvery == 0 || i == operations) check_fsck();
    if (wrong_) return fmt::format("operation {}: {}", i, *wrong_);
  }
  return wrong_;
}

// ---- chance

std::string Story::any_gate() {
  switch (below(7)) {
    case 0:
      return "all";
    case 1:
      return "queue:" + any_queue();
    case 2:
      return "type:" + any_type();
    case 3:
      return "owner:" + any_owner();
    case 4:
      return "owner:*";
    case 5:
      return "lock:k";
    default:
      return "provider:p";
  }
}

std::optional<TaskId> Story::any_task(bool running) {
  std::vector<TaskId> ids;
  for (const LaneModel::Entry& entry : model_.entries()) {
    if (entry.started_at.has_value() == running) ids.push_back(entry.task.id);
  }
  if (ids.empty()) return std::nullopt;
  return ids[below(ids.size())];
}

TaskId Story::new_id() {
  TaskId::Bytes bytes{};
  ++last_id_;
  for (std::size_t i = 0; i < 8; ++i) bytes[15 - i] = static_cast<std::uint8_t>(last_id_ >> (8 * i));
  return TaskId(bytes);
}

LeaseId Story::new_lease() {
  return LeaseId(new_id().bytes());
}

// ---- operations

void Story::operate() {
  switch (below(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return add();
    case 4:
    case 5:
    case 6:
    case 7:
      return claim();
    case 8:
    case 9:
    case 10:
      return end_one();
    case 11:
      return cancel_one();
    case 12:
      return set_gate();
    case 13:
      return one_in(4) ? set_weights() : wake();
    default:
      return clock_.advance(Millis(below(one_in(8) ? 5'000 : 100)));
  }
}

void Story::apply(StepGroup group) {
  const auto applied = must(store_.apply(std::vector{std::move(group)}));
  if (applied != std::vector{Applied::kDone}) wrong("a group was not applied");
}

void Story::add() {
  if (model_.entries().size() > kTasksMax) return;
  StepGroup group;
  group.capacity = Capacity();
  for (std::uint64_t i = 0, n = 1 + below(4); i < n; ++i) {
    TaskRecord record;
    Task& task = record.task;
    task.id = new_id();
    task.queue = any_queue();
    task.priority = static_cast<int>(below(3));
    task.owner = any_owner();
    task.type = any_type();
    task.cost = one_in(4) ? 1 + static_cast<std::int64_t>(below(3)) : 1;
    task.created_at = clock_.wall();
    task.max_attempts = 1'000;
    task.max_stalls = 1'000;
    task.retry = *parse_retry_policy("fixed:0ms");
    if (one_in(4)) task.gates.emplace_back("provider:p");
    if (one_in(6)) task.gates.emplace_back("lock:k");
    model_.push(task);
    group.steps.push_back(first_step(std::move(record), {.now = clock_.wall()}));
  }
  apply(std::move(group));
}

void Story::claim() {
  ClaimRequest request{.worker_id = "w", .serves = {}, .n = 1 + static_cast<int>(below(one_in(4) ? 40 : 5))};
  for (std::uint64_t i = 0, n = 1 + below(3); i < n; ++i) {
    request.serves.push_back({any_queue(), one_in(3) ? std::optional(any_type()) : std::nullopt});
  }
  std::optional<ReservedSlots> reserved;
  if (one_in(4)) reserved = {static_cast<int>(below(2)), static_cast<int>(below(3))};
  std::vector<LeaseId> leases;
  for (int i = 0; i < request.n; ++i) leases.push_back(new_lease());
  const Claimed claimed = must(store_.claim(request, leases, reserved));
  const LaneModel::Answer expected = model_.claim(request, reserved, clock_.wall());
  std::vector<TaskId> ids;
  for (const TaskRecord& record : claimed.records) ids.push_back(record.task.id);
  if (ids != expected.ids) return wrong(fmt::format("claimed{}, expected{}", text_of(ids), text_of(expected.ids)));
  if (claimed.more != expected.more) return wrong(fmt::format("a claim said more = {}", claimed.more));
  check_claim(request, reserved, claimed);
}

Step Story::decided(const TaskId& id, const Trigger& trigger) {
  const auto records = must(store_.read(std::vector{id}, Parts::kAll));
  return must(decide(records.at(0).value(), trigger, {.now = clock_.wall()}));
}

void Story::end_one() {
  const std::optional<TaskId> id = any_task(true);
  if (!id) return;
  StepGroup group;
  switch (below(4)) {
    case 0:
      group.steps = {decided(*id, trigger::Release{})};
      model_.give_back(*id, clock_.wall());
      break;
    case 1:
      group.steps = {decided(*id, trigger::LeaseLost{})};
      model_.give_back(*id, clock_.wall());
      break;
    case 2:
      group.steps = {decided(*id, trigger::Fail{{.message = "broke"}})};
      model_.push_again(*id, clock_.wall());
      break;
    default:
      group.steps = {decided(*id, trigger::Complete{})};
      model_.end(*id, clock_.wall());
      break;
  }
  apply(std::move(group));
}

void Story::cancel_one() {
  const std::optional<TaskId> id = any_task(false);
  if (!id) return;
  StepGroup group;
  group.steps = {decided(*id, trigger::Cancel{"no more"})};
  model_.cancel(*id);
  apply(std::move(group));
}

void Story::set_gate() {
  GateRecord record{.name = any_gate()};
  const auto stored = must(store_.read_gates(std::vector{record.name})).at(0);
  if (one_in(3)) {
    Hold hold{.source = HoldSource::kOperator};
    hold.closed_until = one_in(2) ? kUntilOpened : clock_.wall() + Millis(below(3'000));
    set_hold(record, hold);
  }
  if (one_in(3)) set_hold(record, {.source = HoldSource::kPolicy, .permits = static_cast<int>(below(4))});
  if (one_in(6)) {
    set_hold(record,
             {.source = HoldSource::kBreaker, .closed_until = clock_.wall() + Millis(below(500)), .permits = 1});
  }
  if (one_in(4))
    record.rate =
        Rate{1 + static_cast<std::int64_t>(below(20)), Millis(1'000), 3 + static_cast<std::int64_t>(below(5))};
  StepGroup group;
  group.gates = {{.name = record.name, .expected_revision = stored.record.revision, .next = record, .events = {}}};
  model_.set_gate(record, clock_.wall());
  apply(std::move(group));
}

void Story::set_weights() {
  Weights weights;
  weights.others = 1 + static_cast<int>(below(3));
  if (one_in(2)) weights.owners[any_owner()] = 1 + static_cast<int>(below(5));
  if (!must(store_.put_config("{}", config_version_++, {}, weights, {}))) wrong("the configuration was not taken");
  model_.set_weights(weights);
}

void Story::wake() {
  const int woken = must(store_.wake_gates());
  if (const int expected = model_.wake_gates(clock_.wall()); woken != expected) {
    wrong(fmt::format("{} lanes were woken, expected {}", woken, expected));
  }
}

// ---- what must be so

bool is_served(const ClaimRequest& request, const Task& task) {
  return std::ranges::any_of(request.serves, [&](const Serve& serve) {
    return serve.queue == task.queue && (!serve.type || *serve.type == task.type);
  });
}

void Story::check_claim(const ClaimRequest& request, const std::optional<ReservedSlots>& reserved,
                        const Claimed& claimed) {
  const bool is_short = std::cmp_less(claimed.records.size(), request.n);
  int others = 0;
  for (const TaskRecord& record : claimed.records) {
    if (reserved && record.task.priority > reserved->rank) ++others;
    if (!is_served(request, record.task)) wrong("a task was claimed that is not served");
    for (const std::string& gate : gates_of(record.task)) {
      const GateLimits limits = model_.limits(gate);
      if (limits.closed_until && clock_.wall() < *limits.closed_until) wrong("passed a closed gate: " + gate);
    }
    for (const LaneModel::Entry& entry : model_.entries()) {
      const bool is_before = !entry.started_at && entry.lane == lane_name(record.task);
      if (is_before && entry.place < record.place) wrong("a task was claimed before one that stands before it");
    }
  }
  if (reserved && others > reserved->n_others) wrong("reserved slots were given away");
  for (const LaneModel::Entry& entry : model_.entries()) {
    if (entry.started_at || !is_short || claimed.more || !is_served(request, entry.task)) continue;
    const bool is_reserved = reserved && entry.task.priority > reserved->rank && others >= reserved->n_others;
    // What a rate cannot pay for yet holds up cheaper lanes behind it, so that they do not starve it.
    const std::optional<std::string> gate = model_.parked_at(entry.task);
    const bool is_behind_dearer = gate && model_.limits(*gate).interval_us > 0;
    if (is_reserved || is_behind_dearer || !model_.may_start(entry.task, clock_.wall())) continue;
    wrong("a claim came back short, and left a task of " + entry.lane);
  }
}

void Story::check_permits() {
  for (const LaneModel::Entry& entry : model_.entries()) {
    if (!entry.started_at || *entry.started_at != clock_.wall()) continue;
    for (const std::string& gate : gates_of(entry.task)) {
      const GateState state = must(store_.read_gates(std::vector{gate})).at(0);
      const GateLimits limits = model_.limits(gate);
      if (!limits.permits) continue;
      if (state.use.in_use != model_.in_use(gate)) wrong("the use of " + gate + " is not what runs");
    }
  }
}

void Story::check_position() {
  const std::optional<TaskId> id = any_task(false);
  if (!id) return;
  const auto position = must(store_.lane_position(*id));
  if (!position) return wrong("a waiting task stands nowhere");
  const auto entry = std::ranges::find(model_.entries(), *id, [](const auto& other) { return other.task.id; });
  if (position->parked_at != model_.parked_at(entry->task)) wrong("a lane is parked elsewhere");
  const auto ahead = std::ranges::count_if(model_.entries(), [&](const LaneModel::Entry& other) {
    return !other.started_at && other.place < entry->place && other.lane == entry->lane;
  });
  if (position->ahead != ahead) wrong(fmt::format("{} stand before a task, not {}", ahead, position->ahead));
}

void Story::check_fsck() {
  for (const Finding& finding : must(store_.fsck(FsckMode::kCheck))) {
    wrong(fmt::format("fsck: {} {}", finding.code, finding.detail));
  }
}

}  // namespace

std::optional<std::string> tell_lane_story(Store& store, ManualClock& clock, std::uint64_t seed, int operations) {
  return Story(store, clock, seed).tell(operations);
}

}  // namespace drover::test
