#include "engine/cascade.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/planted_bug.h"
#include "base/try.h"
#include "core/task_fields.h"
#include "engine/follow_up.h"

namespace drover {
namespace {

// Whether the end of a record concerns no other.
bool ends_alone(const TaskRecord& record) {
  const bool is_cancelled = record.task.state == TaskState::kCancelled || record.task.cancel_requested_at;
  return record.dependents == 0 && (record.children == 0 || !is_cancelled);
}

}  // namespace

bool parent_is_done(TaskState parent, OnParentFailure policy) {
  return parent == TaskState::kCompleted || (is_terminal(parent) && policy == OnParentFailure::kRun);
}

void copy_body(const Task& from, Task& to) {
  visit_task_fields([&](auto field) {
    if constexpr (field.kIs.kept == FieldKept::kBody) field.of(to) = field.of(from);
  });
}

Result<const TaskRecord*> RecordView::find_head(const TaskId& id) {
  auto it = known_.find(id);
  if (it == known_.end()) {
    auto read = TRY(store_.read(std::span(&id, 1), Parts::kHead));
    it = known_.emplace(id, std::move(read.front())).first;
  }
  const std::optional<TaskRecord>& record = it->second;
  return record ? &*record : nullptr;
}

Result<std::optional<TaskRecord>> RecordView::find(const TaskId& id, Parts parts) {
  if (const auto it = known_.find(id); it != known_.end() && parts == Parts::kHead) return it->second;
  auto read = TRY(store_.read(std::span(&id, 1), parts));
  auto record = std::move(read.front());
  std::optional<TaskRecord>& known = known_[id];
  if (known && record) {
    // Decided on already: the head is newer than the store's, the body is the store's.
    TaskRecord merged = *known;
    copy_body(record->task, merged.task);
    return merged;
  }
  known = record;
  return record;
}

Status RecordView::prefetch(std::span<const TaskId> ids) {
  std::vector<TaskId> missing;
  for (const TaskId& id : ids) {
    if (!known_.contains(id)) missing.push_back(id);
  }
  if (missing.empty()) return {};
  auto read = TRY(store_.read(missing, Parts::kHead));
  for (std::size_t i = 0; i < missing.size(); ++i) known_[missing[i]] = std::move(read[i]);
  return {};
}

TaskRecord RecordView::take(const TaskId& id) {
  auto known = known_.extract(id);
  CHECK(!known.empty());
  std::optional<TaskRecord> record = std::move(known.mapped());
  CHECK(record.has_value());
  return *std::move(record);
}

Result<std::vector<TaskRecord>> RecordView::overlay(Result<std::vector<TaskRecord>> stored) {
  if (!stored) return stored;
  for (TaskRecord& record : *stored) {
    const auto it = known_.find(record.task.id);
    if (it == known_.end()) continue;
    const std::optional<TaskRecord>& known = it->second;
    if (known) record = *known;
  }
  return stored;
}

Result<std::vector<TaskRecord>> RecordView::dependents(const TaskId& parent) {
  return overlay(store_.dependents(parent));
}
Result<std::vector<TaskRecord>> RecordView::children(const TaskId& spawner) {
  return overlay(store_.children(spawner));
}

Result<Step> Cascade::decide_on(TaskRecord record, const Trigger& trigger) {
  const bool budgeted = record.task.state == TaskState::kRunning &&
                        (record.task.budget || (policy_.has_budgets && !policy_.budgeted_gates(record.task).empty()));
  const DecisionContext context{now_, rng_.unit(), &policy_.type(record.task.type), &policy_.prices, budgeted};
  const int open_questions = record.task.open_questions;
  auto step = TRY(decide(std::move(record), trigger, context));
  if (open_questions > 0 && is_terminal(step.next.task.state)) {
    TRY(withdraw_questions(step));
  }
  return step;
}

// The task's revision guards them: every question that is asked or closed moves it.
Status Cascade::withdraw_questions(Step& ended) {
  if (planted(PlantedBug::kEndKeepsQuestions)) return {};
  auto asked = TRY(view_.questions_of(ended.next.task.id));
  for (QuestionRecord& one : asked) {
    const auto is_it = [&](const QuestionStep& step) { return step.next.id == one.question.id; };
    if (one.question.state != QuestionState::kOpen || std::ranges::any_of(questions_, is_it)) continue;
    auto question = TRY(withdrawn(std::move(one.question), "", "its task ended", now_));
    ended.events.push_back({.name = event_name(question, question), .data = event_data(question)});
    questions_.push_back({.next = std::move(question), .expected_revision = one.revision});
  }
  return {};
}

void Cascade::add(Step&& step) {
  const auto [it, is_new] = index_.try_emplace(step.next.task.id, steps_.size());
  if (is_new) {
    steps_.push_back(std::move(step));
    told_.push_back(tellings_++);
    return;
  }
  // A second decision on the same record: one step that does both.
  Step& first = steps_[it->second];
  if (!step.events.empty()) told_[it->second] = tellings_++;
  step.expected_revision = first.expected_revision;
  step.expected_beats = first.expected_beats;
  if (first.guard == Step::Guard::kRevisionAndBeats) step.guard = first.guard;
  if (first.result == Step::ResultWrite::kReplace && step.result == Step::ResultWrite::kKeep) {
    step.result = first.result;
    step.next.task.result = first.next.task.result;
  }
  if (first.writes_body() && !step.writes_body()) copy_body(first.next.task, step.next.task);
  if (first.payload == Step::PayloadWrite::kReplace) step.payload = first.payload;
  if (first.tags == Step::TagsWrite::kReplace) step.tags = first.tags;
  if (first.parents == Step::ParentsWrite::kReplace) step.parents = first.parents;
  step.events.insert(step.events.begin(), first.events.begin(), first.events.end());
  if (first.run_end) {
    step.run_end = first.run_end;
    if (step.run_end->settlement) step.run_end->settlement->state = step.next.task.state;
  }
  step.answer_waits += first.answer_waits;
  step.ledger.insert(step.ledger.begin(), first.ledger.begin(), first.ledger.end());
  if (first.spend) step.spend = first.spend;
  first = std::move(step);
}

void Cascade::reserve(std::size_t steps) {
  steps_.reserve(steps);
  told_.reserve(steps);
  index_.reserve(steps);
}

void Cascade::add_decided(Step&& step) {
  auto follow_up = follow_up_step(step, policy_, rng_, now_);
  add(std::move(step));
  if (follow_up) add(*std::move(follow_up));
}

const TaskRecord* Cascade::decided(const TaskId& id) const {
  const auto it = index_.find(id);
  return it == index_.end() ? nullptr : &steps_[it->second].next;
}

Status Cascade::run(TaskRecord record, const Trigger& trigger) {
  const TaskId id = record.task.id;
  auto step = TRY(decide_on(std::move(record), trigger));
  const bool ended = is_terminal(step.next.task.state);
  add_decided(std::move(step));
  if (std::holds_alternative<trigger::Retry>(trigger)) {
    to_follow_.push_back({id, Cause::kRetried});
  } else if (ended || std::holds_alternative<trigger::Cancel>(trigger)) {
    to_follow_.push_back({id, Cause::kEnded});
  }
  return follow_all();
}

Status Cascade::resume(const TaskRecord& record) {
  Step step;
  step.next = record;
  step.next.cascade_due = false;
  step.expected_revision = record.revision;
  add(std::move(step));
  to_follow_.push_back({record.task.id, Cause::kEnded});
  return follow_all();
}

Status Cascade::follow_all() {
  while (!to_follow_.empty()) {
    const Follow next = to_follow_.back();
    to_follow_.pop_back();
    TRY(follow(next));
  }
  return {};
}

Status Cascade::follow(const Follow& what) {
  const TaskRecord* ended = decided(what.id);
  if (what.cause == Cause::kEnded && ends_alone(*ended)) return {};
  const TaskRecord record = *ended;
  if (what.cause == Cause::kEnded) return follow_ended(record);
  const auto reach = static_cast<std::size_t>(record.dependents);
  if (steps_.size() > 1 && steps_.size() + reach > kCascadeStepsMax) {
    return fail(ErrorCode::kLimitExceeded, "too many tasks depend on this one to bring them back in one step");
  }
  return follow_retry(record);
}

// A record's dependents are followed once and all together, so that none counts this end twice. Its children go first;
// if they alone are too many they go in portions, and the dependents with the last one.
Status Cascade::follow_ended(const TaskRecord& record) {
  auto children = TRY(children_to_cancel(record));
  const std::size_t reach = static_cast<std::size_t>(record.dependents) + children.size();
  if (reach == 0) return {};
  bool& cascade_due = steps_[index_.at(record.task.id)].next.cascade_due;
  if (steps_.size() > 1 && steps_.size() + reach > kCascadeStepsMax) {
    cascade_due = true;
    return {};
  }
  const bool in_portions = children.size() > kCascadeStepsMax;
  if (in_portions) {
    cascade_due = true;
    children.resize(kCascadeStepsMax);
  }
  TRY(cancel_children(record, children));
  if (in_portions || !is_terminal(record.task.state)) return {};
  return follow_end(record);
}

Status Cascade::follow_end(const TaskRecord& ended) {
  if (ended.dependents == 0) return {};
  auto dependents = TRY(view_.dependents(ended.task.id));
  if (const auto joined = joined_.find(ended.task.id); joined != joined_.end()) {
    for (const TaskId& id : joined->second) dependents.push_back(*decided(id));
  }
  for (TaskRecord& dependent : dependents) {
    if (const TaskRecord* newer = decided(dependent.task.id)) dependent = *newer;
    if (dependent.task.state != TaskState::kBlocked) continue;
    const bool completed = ended.task.state == TaskState::kCompleted;
    if (!completed && planted(PlantedBug::kParentFailureForgotten)) continue;
    const Trigger trigger = completed ? Trigger(trigger::ParentDone{}) : Trigger(trigger::ParentEnded{ended.task.id});
    auto step = TRY(decide_on(dependent, trigger));
    const bool ends = is_terminal(step.next.task.state);
    add_decided(std::move(step));
    if (ends) to_follow_.push_back({dependent.task.id, Cause::kEnded});
  }
  return {};
}

// What a cancel of this record reaches by spawning. A finished child stays as it is, but what it spawned goes too.
Result<std::vector<TaskRecord>> Cascade::children_to_cancel(const TaskRecord& record) {
  std::vector<TaskRecord> found;
  if (record.task.state != TaskState::kCancelled && !record.task.cancel_requested_at) return found;
  std::vector<TaskId> spawners;
  if (record.children > 0) spawners.push_back(record.task.id);
  while (!spawners.empty()) {
    auto children = view_.children(spawners.back());
    if (!children) return children;
    spawners.pop_back();
    for (TaskRecord& child : *children) {
      if (const TaskRecord* newer = decided(child.task.id)) child = *newer;
      if (is_terminal(child.task.state)) {
        if (child.children > 0) spawners.push_back(child.task.id);
      } else if (!child.task.cancel_requested_at) {
        found.push_back(std::move(child));
      }
    }
  }
  return found;
}

Status Cascade::cancel_children(const TaskRecord& cancelled, std::span<const TaskRecord> children) {
  for (const TaskRecord& child : children) {
    auto step = TRY(decide_on(child, trigger::Cancel{cancelled.task.cancel_reason.value_or("")}));
    add(std::move(step));
    to_follow_.push_back({child.task.id, Cause::kEnded});
  }
  return {};
}

Status Cascade::follow_retry(const TaskRecord& retried) {
  if (retried.dependents == 0) return {};
  auto dependents = TRY(view_.dependents(retried.task.id));
  for (TaskRecord& dependent : dependents) {
    if (const TaskRecord* newer = decided(dependent.task.id)) dependent = *newer;
    const bool ended_by_it = dependent.ended_by == retried.task.id;
    if (!ended_by_it && dependent.task.state != TaskState::kBlocked) continue;
    TRY(revive(dependent, retried.task.id));
  }
  return {};
}

// Counts the dependent's parents afresh. Another parent that ended meanwhile keeps it ended, now on that one's account.
Status Cascade::revive(const TaskRecord& dependent, const TaskId& parent) {
  const std::optional<TaskRecord> whole = TRY(view_.find(dependent.task.id, Parts::kAll));
  CHECK(whole.has_value());
  int unmet = 0;
  for (const TaskId& id : whole->task.depends_on) {
    const std::optional<TaskRecord> stored = TRY(view_.find(id, Parts::kHead));
    if (!stored) continue;  // retention took it: it had ended
    const TaskRecord* newer = decided(id);
    const TaskState state = newer != nullptr ? newer->task.state : stored->task.state;
    if (id != parent && is_terminal(state) && !parent_is_done(state, dependent.task.on_parent_failure)) {
      Step step;
      step.next = dependent;
      step.next.ended_by = id;
      step.expected_revision = dependent.revision;
      add(std::move(step));
      return {};
    }
    if (!parent_is_done(state, dependent.task.on_parent_failure)) ++unmet;
  }
  auto step = TRY(decide_on(dependent, trigger::ParentRetried{unmet}));
  const bool was_ended = is_terminal(dependent.task.state);
  add(std::move(step));
  if (was_ended) to_follow_.push_back({dependent.task.id, Cause::kRetried});
  return {};
}

int Cascade::cancelled() const {
  return static_cast<int>(std::ranges::count_if(
      steps_, [](const Step& step) { return step.next.task.state == TaskState::kCancelled && !step.events.empty(); }));
}

int Cascade::cancel_requested() const {
  return static_cast<int>(std::ranges::count_if(steps_, [](const Step& step) {
    return step.next.task.state == TaskState::kRunning && step.next.task.cancel_requested_at.has_value();
  }));
}

StepGroup Cascade::take() {
  for (const Step& step : steps_) {
    TaskRecord applied = step.next;
    applied.revision = step.expected_revision + 1;
    view_.put(std::move(applied));
  }
  return take_last();
}

StepGroup Cascade::take_last() {
  StepGroup group;
  if (std::ranges::is_sorted(told_)) {
    group.steps = std::move(steps_);
  } else {
    std::vector<std::size_t> order(steps_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return told_[i]; });
    group.steps.reserve(steps_.size());
    for (const std::size_t i : order) group.steps.push_back(std::move(steps_[i]));
  }
  group.questions = std::exchange(questions_, {});
  steps_.clear();
  told_.clear();
  index_.clear();
  joined_.clear();
  return group;
}

}  // namespace drover
