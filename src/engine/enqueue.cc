// Enqueue: a group of tasks is stored whole or not at all, together with its request ids and its parents' counts.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "base/try.h"
#include "engine/batch.h"
#include "engine/cascade.h"
#include "engine/dedupe.h"
#include "engine/engine.h"
#include "engine/sessions.h"
#include "engine/spec.h"
#include "engine/trees.h"

namespace drover {

namespace {

// One attempt at storing a group: everything that is read and decided between two compare-and-sets.
class Enqueue {
 public:
  Enqueue(Store& store, Rng& rng, const Policy& policy, Time now)
      : store_(store),
        policy_(policy),
        now_(now),
        view_(store),
        cascade_(view_, rng, policy, now),
        dedupe_(store, view_, cascade_, policy, now),
        sessions_(store, view_, cascade_, now) {}

  Result<std::vector<Enqueued>> decide(std::span<const TaskSpec> specs, std::span<const BatchItem> items);
  Status check_spawner(const Lease& lease);

  // Empty when every item was there already.
  StepGroup take();

 private:
  Result<Enqueued> add_item(const TaskSpec& spec, const BatchItem& item);
  Result<std::optional<TaskRecord>> replayed(const TaskRecord& record);
  Result<std::optional<TaskRecord>> find_request(const std::string& owner, const std::string& request_id);
  // With an owner, only that owner's tasks exist.
  Result<TaskRecord> current(const TaskId& id, std::string_view role, const std::string* only_of);
  Status join_parents(TaskRecord& record, const BatchItem& item, const std::string* only_of,
                      std::optional<TaskId>& ended);
  Status join_spawner(TaskRecord& record, const std::string* only_of);
  Status count_on(TaskRecord parent, int TaskRecord::* counter, std::int64_t limit, std::string_view what);

  Store& store_;
  const Policy& policy_;
  Time now_;
  RecordView view_;
  Cascade cascade_;
  Dedupe dedupe_;
  SessionDesk sessions_;
  std::vector<GateStep> trees_;  // the gates of roots with a budget
  std::vector<TaskId> ids_by_index_;
  std::map<std::pair<std::string, std::string>, TaskId> requests_;  // of this group: owner and request id
};

// Room is asked for only by what is new.
StepGroup Enqueue::take() {
  StepGroup group = cascade_.take_last();
  group.dedupes = dedupe_.take_guards();
  group.gates = sessions_.take_steps();
  std::ranges::move(trees_, std::back_inserter(group.gates));
  const auto is_new = [](const Step& step) { return step.expected_revision == 0; };
  if (std::ranges::none_of(group.steps, is_new)) return group;
  group.capacity = Capacity{policy_.limits.max_waiting, policy_.limits.max_waiting_per_owner};
  if (policy_.queues.empty()) return group;
  std::set<std::string_view> queues;
  for (const Step& step : group.steps) {
    if (is_new(step)) queues.insert(step.next.task.queue);
  }
  for (const std::string_view queue : queues) {
    const auto found = policy_.queues.find(queue);
    if (found == policy_.queues.end()) continue;
    if (const auto& max = found->second.max_waiting) group.capacity->waiting_per_queue_max.emplace_back(queue, *max);
  }
  return group;
}

Status Enqueue::check_spawner(const Lease& lease) {
  auto spawner = TRY(current(lease.task, "the spawning task", nullptr));
  if (spawner.task.state != TaskState::kRunning || spawner.lease != lease.id) {
    return fail(ErrorCode::kStaleLease, fmt::format("this lease of task {} has ended", lease.task.to_string()));
  }
  return {};
}

// The task that has this request id already: in the store, or earlier in this group.
Result<std::optional<TaskRecord>> Enqueue::find_request(const std::string& owner, const std::string& request_id) {
  if (const auto it = requests_.find({owner, request_id}); it != requests_.end()) {
    return *cascade_.decided(it->second);
  }
  const std::optional<TaskId> id = TRY(store_.find_request(owner, request_id));
  if (!id) return std::nullopt;
  return view_.find(*id, Parts::kHead);
}

// The task that an earlier, equal request with this id made.
Result<std::optional<TaskRecord>> Enqueue::replayed(const TaskRecord& record) {
  const std::optional<std::string>& request_id = record.task.request_id;
  if (!request_id) return std::nullopt;
  auto found = find_request(record.task.owner, *request_id);
  if (!found) return found;
  const std::optional<TaskRecord>& first = *found;
  if (first && first->request_hash != record.request_hash) {
    return fail(ErrorCode::kRequestConflict,
                fmt::format("request id \"{}\" was used for another request, which made task {}", *request_id,
                            first->task.id.to_string()));
  }
  return found;
}

// The record as this group would leave it.
Result<TaskRecord> Enqueue::current(const TaskId& id, std::string_view role, const std::string* only_of) {
  const TaskRecord* decided = cascade_.decided(id);
  std::optional<TaskRecord> record =
      TRY(decided != nullptr ? Result<std::optional<TaskRecord>>(*decided) : view_.find(id, Parts::kHead));
  const bool exists = record && (only_of == nullptr || record->task.owner == *only_of);
  if (!exists) return fail(ErrorCode::kUnknownParent, fmt::format("{} {} does not exist", role, id.to_string()));
  return *std::move(record);
}

// Moves the other record's revision too, so that it cannot end unnoticed between this decision and its commit.
Status Enqueue::count_on(TaskRecord parent, int TaskRecord::* counter, std::int64_t limit, std::string_view what) {
  if (parent.*counter >= limit) {
    return fail(ErrorCode::kLimitExceeded, fmt::format("task {} has {} {} already, and no more are allowed",
                                                       parent.task.id.to_string(), parent.*counter, what));
  }
  Step step;
  step.expected_revision = parent.revision;
  parent.*counter += 1;
  step.next = std::move(parent);
  cascade_.add(std::move(step));
  return {};
}

Status Enqueue::join_parents(TaskRecord& record, const BatchItem& item, const std::string* only_of,
                             std::optional<TaskId>& ended) {
  std::vector<TaskId> parents = item.outer;
  for (const std::size_t index : item.inner) parents.push_back(ids_by_index_[index]);
  for (const TaskId& id : parents) {
    auto parent = TRY(current(id, "parent", only_of));
    const TaskState state = parent.task.state;
    if (!parent_is_done(state, record.task.on_parent_failure)) {
      ++record.unmet_parents;
      if (is_terminal(state) && !ended) ended = id;
    }
    TRY(count_on(std::move(parent), &TaskRecord::dependents, policy_.limits.dependents, "dependents"));
  }
  record.task.depends_on = std::move(parents);
  return {};
}

Status Enqueue::join_spawner(TaskRecord& record, const std::string* only_of) {
  if (!record.task.parent_id) return {};
  auto spawner = TRY(current(*record.task.parent_id, "the spawning task", only_of));
  if (spawner.task.cancel_requested_at || spawner.task.state == TaskState::kCancelled) {
    return fail(ErrorCode::kWrongState,
                fmt::format("the spawning task {} is being cancelled", spawner.task.id.to_string()));
  }
  record.depth = spawner.depth + 1;
  std::ranges::copy_if(spawner.task.gates, std::back_inserter(record.task.gates), is_tree_gate);
  record.spawner_generation = spawner.task.generation;
  if (record.depth > policy_.limits.depth) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("tasks may spawn each other {} deep, not deeper", policy_.limits.depth));
  }
  return count_on(std::move(spawner), &TaskRecord::children, policy_.limits.children, "children");
}

// Errors of a batch name the place.
Error at_item(Error error, std::size_t index, std::size_t count) {
  if (count > 1) error.message = fmt::format("task {}: {}", index + 1, error.message);
  return error;
}

Result<Enqueued> Enqueue::add_item(const TaskSpec& spec, const BatchItem& item) {
  Step step;
  TaskRecord& record = step.next;
  TRY(fill_record(record, spec, policy_, item.id, now_));
  const auto earlier = TRY(replayed(record));
  if (const std::optional<TaskRecord>& first = earlier) {
    ids_by_index_[item.index] = first->task.id;
    return Enqueued{first->task.id, first->task.state, true};
  }
  const auto matched = TRY(dedupe_.find(record, spec.dedupe_window));
  if (const std::optional<TaskRecord>& match = matched) {
    ids_by_index_[item.index] = match->task.id;
    return Enqueued{match->task.id, match->task.state, true};
  }
  TRY(meet_contract(record, policy_));
  TRY(sessions_.admit(record.task, spec.busy.value_or(BusyRule::kEnqueue)));
  ids_by_index_[item.index] = item.id;
  if (const auto& request_id = record.task.request_id) {
    requests_.emplace(std::pair(record.task.owner, *request_id), item.id);
  }
  const std::string* only_of = spec.parent_scope == ParentScope::kSameOwner ? &record.task.owner : nullptr;
  std::optional<TaskId> ended;
  TRY(join_parents(record, item, only_of, ended));
  TRY(join_spawner(record, only_of));
  if (auto tree = tree_gate_of(record.task)) trees_.push_back(*std::move(tree));
  begin_first_step(step, {now_, 0, nullptr});
  // A later task of this group may end these, by interrupting their session.
  for (const TaskId& parent : record.task.depends_on) cascade_.add_dependent(parent, item.id);
  if (record.task.parent_id) cascade_.add_child(*record.task.parent_id, item.id);
  cascade_.add(std::move(step));
  if (ended) {
    const TaskRecord blocked = *cascade_.decided(item.id);
    TRY(cascade_.run(blocked, trigger::ParentEnded{*ended}));
  }
  const TaskRecord& stored = *cascade_.decided(item.id);
  dedupe_.made(stored);
  return Enqueued{item.id, stored.task.state, false};
}

Result<std::vector<Enqueued>> Enqueue::decide(std::span<const TaskSpec> specs, std::span<const BatchItem> items) {
  std::vector<TaskId> others;
  for (const BatchItem& item : items) {
    others.insert(others.end(), item.outer.begin(), item.outer.end());
    if (const auto& parent = specs[item.index].parent_id) others.push_back(*parent);
  }
  TRY(view_.prefetch(others));

  std::vector<Enqueued> answers(specs.size());
  ids_by_index_.resize(specs.size());
  cascade_.reserve(items.size());
  for (const BatchItem& item : items) {
    auto answer = add_item(specs[item.index], item);
    if (!answer) return std::unexpected(at_item(answer.error(), item.index, specs.size()));
    answers[item.index] = *answer;
  }
  // A later task may have ended an earlier one.
  for (Enqueued& answer : answers) {
    if (const TaskRecord* stored = cascade_.decided(answer.id)) answer.state = stored->task.state;
  }
  return answers;
}

Status check_batch(std::span<const TaskSpec> group, const Policy& policy) {
  if (group.empty()) return fail(ErrorCode::kInvalidArgument, "there is no task in this batch");
  if (group.size() > static_cast<std::size_t>(policy.limits.batch_tasks)) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("the batch has {} tasks; at most {} are allowed", group.size(), policy.limits.batch_tasks));
  }
  return {};
}

// `verdict` says which limit was reached; of the queues in the group there may be several that have one.
std::unexpected<Error> queue_full(Applied verdict, const Capacity& capacity) {
  std::string limit;
  if (verdict == Applied::kAllFull) limit = fmt::format("{} in all (limits.max_waiting)", capacity.waiting_max);
  if (verdict == Applied::kOwnerFull)
    limit = fmt::format("{} for one owner (limits.max_waiting_per_owner)", capacity.waiting_per_owner_max);
  if (verdict == Applied::kQueueFull) {
    for (const auto& [queue, waiting_max] : capacity.waiting_per_queue_max) {
      limit +=
          fmt::format("{}{} in queue {} (queues.{}.max_waiting)", limit.empty() ? "" : ", ", waiting_max, queue, queue);
    }
  }
  return fail(ErrorCode::kQueueFull, fmt::format("too many tasks are waiting: at most {}; nothing was stored", limit));
}

// A group on its way into the store.
struct Candidate {
  std::span<const TaskSpec> group;
  std::vector<TaskId> ids = {};
  std::vector<BatchItem> items = {};
  std::vector<Enqueued> answers = {};  // if the steps are applied
  std::optional<Capacity> capacity = {};
  std::optional<Result<std::vector<Enqueued>>> answer = {};  // the last word
};

bool is_answered(const Candidate* candidate) {
  return candidate->answer.has_value();
}

// Several groups, each decided and answered as if it were alone, but applied in one call.
class GroupEnqueue {
 public:
  GroupEnqueue(Store& store, Rng& rng, const Policy& policy, const Lease* spawner)
      : store_(store), rng_(rng), policy_(policy), spawner_(spawner) {}

  void run(std::span<Candidate> candidates);

 private:
  // The steps that the group needs; none when it has its answer already.
  std::optional<StepGroup> decide(Candidate& candidate, Time now);
  Result<StepGroup> try_decide(Candidate& candidate, Time now);
  static void conclude(Candidate& candidate, Applied applied);

  Store& store_;
  Rng& rng_;
  const Policy& policy_;
  const Lease* spawner_;
};

Result<StepGroup> GroupEnqueue::try_decide(Candidate& candidate, Time now) {
  if (candidate.ids.empty()) {
    TRY(check_batch(candidate.group, policy_));
    candidate.ids = new_task_ids(rng_, now, candidate.group.size());
    candidate.items = TRY(plan_batch(candidate.group, candidate.ids));
  }
  Enqueue enqueue(store_, rng_, policy_, now);
  if (spawner_ != nullptr) {
    TRY(enqueue.check_spawner(*spawner_));
  }
  candidate.answers = TRY(enqueue.decide(candidate.group, candidate.items));
  return enqueue.take();
}

std::optional<StepGroup> GroupEnqueue::decide(Candidate& candidate, Time now) {
  auto steps = try_decide(candidate, now);
  if (!steps) {
    candidate.answer = std::unexpected(steps.error());
    return std::nullopt;
  }
  if (steps->steps.empty()) {
    candidate.answer = std::move(candidate.answers);
    return std::nullopt;
  }
  candidate.capacity = steps->capacity;
  return *std::move(steps);
}

void GroupEnqueue::conclude(Candidate& candidate, Applied applied) {
  switch (applied) {
    case Applied::kDone:
      candidate.answer = std::move(candidate.answers);
      return;
    case Applied::kConflict:
    case Applied::kRequestTaken:
      return;
    case Applied::kIdTaken:
      candidate.answer =
          fail(ErrorCode::kRequestConflict,
               "a task with this id exists already; let Drover choose the id, or use a request id to repeat a "
               "request safely");
      return;
    case Applied::kQueueFull:
    case Applied::kOwnerFull:
    case Applied::kAllFull:
      CHECK(candidate.capacity.has_value());
      candidate.answer = queue_full(applied, *candidate.capacity);
      return;
    case Applied::kStillLeased:
      CHECK_MSG(false, "an enqueue begins no ended task anew");
  }
}

void GroupEnqueue::run(std::span<Candidate> candidates) {
  const auto answer_rest = [&](const std::unexpected<Error>& error) {
    for (Candidate& candidate : candidates) {
      if (!candidate.answer) candidate.answer = error;
    }
  };
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    const auto now = store_.now();
    if (!now) return answer_rest(std::unexpected(now.error()));
    std::vector<StepGroup> groups;
    std::vector<Candidate*> whose;
    for (Candidate& candidate : candidates) {
      if (candidate.answer) continue;
      auto steps = decide(candidate, *now);
      if (!steps) continue;
      groups.push_back(*std::move(steps));
      whose.push_back(&candidate);
    }
    if (groups.empty()) return;
    const auto applied = store_.apply(groups);
    if (!applied) return answer_rest(std::unexpected(applied.error()));
    for (std::size_t i = 0; i < whose.size(); ++i) conclude(*whose[i], (*applied)[i]);
    // Groups that come to the same session are stored one after the other.
    if (std::ranges::any_of(whose, is_answered)) attempt = 0;
  }
  answer_rest(too_much_contention("enqueue"));
}

Result<std::vector<Enqueued>> answer_to(Candidate& candidate) {
  auto answer = std::move(candidate.answer);
  CHECK(answer.has_value());
  return *std::move(answer);
}

Result<std::vector<Enqueued>> enqueue_group(Store& store, Rng& rng, const Policy& policy, const Lease* spawner,
                                            std::span<const TaskSpec> group) {
  Candidate candidate{.group = group};
  GroupEnqueue(store, rng, policy, spawner).run(std::span(&candidate, 1));
  return answer_to(candidate);
}

}  // namespace

Result<std::vector<Enqueued>> Engine::enqueue(std::span<const TaskSpec> group) {
  auto policy = TRY(this->policy());
  return enqueue_group(store_, rng_, *policy, nullptr, group);
}

std::vector<Result<std::vector<Enqueued>>> Engine::enqueue_groups(std::span<const std::span<const TaskSpec>> groups) {
  auto policy = this->policy();
  if (!policy) return {groups.size(), Result<std::vector<Enqueued>>(std::unexpected(policy.error()))};
  std::vector<Candidate> candidates;
  for (const auto group : groups) candidates.push_back({.group = group});
  GroupEnqueue(store_, rng_, **policy, nullptr).run(candidates);
  std::vector<Result<std::vector<Enqueued>>> answers;
  for (Candidate& candidate : candidates) answers.push_back(answer_to(candidate));
  return answers;
}

Result<std::vector<Enqueued>> Engine::spawn(const Lease& spawner, std::span<const TaskSpec> group) {
  auto policy = TRY(this->policy());
  const auto read = TRY(store_.read(std::span(&spawner.task, 1), Parts::kHead));
  const std::optional<TaskRecord>& parent = read.front();
  if (!parent) return drover::fail(ErrorCode::kNotFound, fmt::format("there is no task {}", spawner.task.to_string()));
  std::vector<TaskSpec> children(group.begin(), group.end());
  for (TaskSpec& child : children) {
    child.parent_id = spawner.task;
    // An agent speaks for its own owner only, whoever enqueued its task.
    child.owner = parent->task.owner;
    child.parent_scope = ParentScope::kSameOwner;
  }
  return enqueue_group(store_, rng_, *policy, &spawner, children);
}

}  // namespace drover
