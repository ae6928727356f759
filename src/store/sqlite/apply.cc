#include "store/sqlite/apply.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/planted_bug.h"
#include "embedded/sqlite.h"
#include "store/sqlite/fleet.h"
#include "store/sqlite/gates.h"
#include "store/sqlite/leases.h"
#include "store/sqlite/ledger.h"
#include "store/sqlite/named_sql.h"
#include "store/sqlite/reads.h"
#include "store/sqlite/step_write.h"
#include "store/sqlite/writer.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kAnyIdBetween = named_sql(embedded::tasks_sql, "any_id_between");
constexpr std::string_view kAnyIdTaken = named_sql(embedded::tasks_sql, "any_id_taken");
constexpr std::string_view kIdTaken = named_sql(embedded::tasks_sql, "id_taken");
constexpr std::string_view kSeqOf = named_sql(embedded::tasks_sql, "seq_of");
constexpr std::string_view kSeqOfRequest = named_sql(embedded::tasks_sql, "seq_of_request");

constexpr const char* kTwoSteps = "two steps for one task in one group";

bool is_new(const Step& step) {
  return step.expected_revision == 0;
}

// Done if there is room for its tasks, else what is full.
Applied check_capacity(Transaction& transaction, const StepGroup& group) {
  if (!group.capacity) return Applied::kDone;
  std::int64_t count = 0;
  std::unordered_map<std::string_view, std::int64_t> added_by_owner;
  std::unordered_map<std::string_view, std::int64_t> added_by_queue;
  const bool are_queues_limited = !group.capacity->waiting_per_queue_max.empty();
  for (const Step& step : group.steps) {
    if (!is_new(step)) continue;
    ++count;
    ++added_by_owner[step.next.task.owner];
    if (are_queues_limited) ++added_by_queue[step.next.task.queue];
  }
  if (count == 0) return Applied::kDone;
  if (transaction.waiting() + count > group.capacity->waiting_max) return Applied::kAllFull;
  for (const auto& [owner, added] : added_by_owner) {
    if (transaction.waiting_of_owner(std::string(owner)) + added > group.capacity->waiting_per_owner_max)
      return Applied::kOwnerFull;
  }
  for (const auto& [queue, waiting_max] : group.capacity->waiting_per_queue_max) {
    const auto added = added_by_queue.find(queue);
    if (added != added_by_queue.end() && transaction.waiting_in_queue(queue) + added->second > waiting_max)
      return Applied::kQueueFull;
  }
  return Applied::kDone;
}

// Owners and request ids of new tasks.
using Requests = std::set<std::pair<std::string_view, std::string_view>>;

// Whether a new task's request id is free, if it has one. From now on it is not.
bool take_request(Transaction& transaction, const Task& task, Requests& taken) {
  if (!task.request_id) return true;
  return taken.emplace(task.owner, *task.request_id).second &&
         transaction.db().number(kSeqOfRequest, task.owner, *task.request_id) == 0;
}

// Those of `added`, sorted. Ids that were made just now are beyond all others: one look tells that they are free.
bool is_any_id_taken(Connection& db, std::span<const TaskId> ids, std::span<const NewTask> added) {
  return !ids.empty() && db.number(kAnyIdBetween, ids.front(), ids.back()) == 1 && run_over(db, kAnyIdTaken, added);
}

void sort_ids(std::vector<TaskId>& ids) {
  if (!std::ranges::is_sorted(ids)) std::ranges::sort(ids);
}

// What the checks found, for the writes.
class Group {
 public:
  Group(Transaction& transaction, const StepGroup& group) : transaction_(transaction), group_(group) {}

  [[nodiscard]] Applied apply();

 private:
  [[nodiscard]] bool only_completes_one() const;
  [[nodiscard]] Applied check();
  [[nodiscard]] Applied check_new(const Step& step);
  [[nodiscard]] Applied check_stored(const Step& step);
  [[nodiscard]] bool parents_exist(const Step& step);
  [[nodiscard]] bool guards_hold();
  void write();
  [[nodiscard]] std::int64_t write_apart(const Step& step);
  void write_dependencies(const Step& step);

  Transaction& transaction_;
  const StepGroup& group_;
  bool id_is_taken_ = false;  // that of some new task
  std::unordered_map<TaskId, Stored> stored_;
  std::unordered_map<TaskId, std::int64_t> parents_;  // seqs of stored parents of new tasks
  std::unordered_map<TaskId, std::int64_t> added_;    // seqs of new tasks; 0 before they are written
  Requests requests_;
};

Applied Group::apply() {
  if (only_completes_one() && guards_hold() && complete_as_claimed(transaction_, group_.steps.front())) {
    return Applied::kDone;
  }
  const Applied verdict = check();
  if (verdict == Applied::kDone) write();
  return verdict;
}

// One step, and gates that are only looked at.
bool Group::only_completes_one() const {
  const auto is_check = [](const GateStep& gate) { return !gate.next && gate.events.empty(); };
  return group_.steps.size() == 1 && !group_.capacity && !group_.document &&
         std::ranges::all_of(group_.gates, is_check);
}

Applied Group::check() {
  std::vector<NewTask> added;
  std::vector<TaskId> ids;
  added.reserve(group_.steps.size());
  added_.reserve(group_.steps.size());
  for (const Step& step : group_.steps) {
    if (!is_new(step)) continue;
    CHECK_MSG(added_.emplace(step.next.task.id, 0).second, kTwoSteps);
    added.push_back({.step = &step});
    ids.push_back(step.next.task.id);
  }
  sort_ids(ids);
  id_is_taken_ = is_any_id_taken(transaction_.db(), ids, added);
  for (const Step& step : group_.steps) {
    const Applied verdict = is_new(step) ? check_new(step) : check_stored(step);
    if (verdict != Applied::kDone) return verdict;
  }
  if (!guards_hold()) return Applied::kConflict;
  return check_capacity(transaction_, group_);
}

bool Group::guards_hold() {
  for (const Step& step : group_.steps) {
    if (step.spend && step.spend->takes_slice && !has_room_for(transaction_, step.next.task, *step.spend)) return false;
  }
  for (const GateStep& gate : group_.gates) {
    if (!still_holds(transaction_, gate)) return false;
  }
  if (group_.document && !still_holds(transaction_.db(), *group_.document)) return false;
  for (const DedupeGuard& guard : group_.dedupes) {
    if (newest_with_key(transaction_.db(), guard.owner, guard.type, guard.key) != guard.newest) return false;
  }
  return true;
}

Applied Group::check_new(const Step& step) {
  const Task& task = step.next.task;
  // The request id first: an exact replay may well name the same task id.
  if (!take_request(transaction_, task, requests_)) return Applied::kRequestTaken;
  if (id_is_taken_ && transaction_.db().number(kIdTaken, task.id) == 1) return Applied::kIdTaken;
  return parents_exist(step) ? Applied::kDone : Applied::kConflict;
}

// A parent may have gone since it was read: retention deletes finished tasks.
bool Group::parents_exist(const Step& step) {
  for (const TaskId& parent : step.next.task.depends_on) {
    if (added_.contains(parent) || parents_.contains(parent)) continue;
    const std::int64_t seq = transaction_.db().number(kSeqOf, parent);
    if (seq == 0) return false;
    parents_.emplace(parent, seq);
  }
  return true;
}

Applied Group::check_stored(const Step& step) {
  std::optional<Stored> found = find_stored(transaction_.db(), step.next.task.id);
  if (!found) return Applied::kConflict;
  const bool guards_beats = step.guard == Step::Guard::kRevisionAndBeats;
  const bool unguarded = guards_beats && planted(PlantedBug::kReclaimIgnoresRevision);
  const bool held =
      found->revision == step.expected_revision && (!guards_beats || found->lease_beats == step.expected_beats);
  if (!held && !unguarded) return Applied::kConflict;
  const bool begins_anew = is_terminal(found->state) && !is_terminal(step.next.task.state);
  const bool goes = step.fate == Step::Fate::kGoes;
  if ((begins_anew || goes) && is_still_leased(transaction_, found->seq) && !planted(PlantedBug::kRetryMeetsOldAgent)) {
    return Applied::kStillLeased;
  }
  CHECK_MSG(stored_.emplace(step.next.task.id, *std::move(found)).second, kTwoSteps);
  return Applied::kDone;
}

void Group::write() {
  for (const GateStep& gate : group_.gates) write_gate(transaction_, gate);
  const bool apart = planted(PlantedBug::kRequestIdApart);
  NewTasks added(transaction_);
  for (const Step& step : group_.steps) {
    if (is_new(step)) {
      added_[step.next.task.id] = apart ? write_apart(step) : added.add(step);
      continue;
    }
    added.write();
    const Stored& stored = stored_.at(step.next.task.id);
    step.fate == Step::Fate::kGoes ? delete_task(transaction_, stored, step) : update_task(transaction_, stored, step);
    book(transaction_.db(), step.ledger);
    if (planted(PlantedBug::kDependentsReleasedApart)) transaction_.commit_apart(kSettleFailpoints);
  }
  added.write();
  // A parent may be new, too, and stand behind its child.
  for (const Step& step : group_.steps) {
    if (is_new(step)) write_dependencies(step);
  }
  if (group_.document) write_document(transaction_, *group_.document);
}

// A planted bug: the request id is stored in a commit of its own.
std::int64_t Group::write_apart(const Step& step) {
  Step without = step;
  without.next.task.request_id.reset();
  NewTasks added(transaction_);
  const std::int64_t seq = added.add(without);
  added.write();
  transaction_.commit_apart(kEnqueueFailpoints);
  transaction_.db().run("UPDATE body SET request_id = ?1 WHERE seq = ?2", step.next.task.request_id, seq);
  return seq;
}

void Group::write_dependencies(const Step& step) {
  if (step.next.task.depends_on.empty()) return;
  std::vector<std::int64_t> parents;
  for (const TaskId& parent : step.next.task.depends_on) {
    const auto added = added_.find(parent);
    parents.push_back(added != added_.end() ? added->second : parents_.at(parent));
  }
  insert_dependencies(transaction_, added_.at(step.next.task.id), parents);
}

// Nothing but new tasks that refer to no other: whether it may be written depends on few rows.
bool is_plain(const StepGroup& group) {
  return group.gates.empty() && group.dedupes.empty() && !group.document && !planted(PlantedBug::kRequestIdApart) &&
         std::ranges::all_of(group.steps, [](const Step& step) {
           return is_new(step) && step.next.task.depends_on.empty() && !step.next.task.dedupe_key;
         });
}

// Plain groups, of which many callers at once have many: checked one after the other, but written by one statement.
class PlainGroups {
 public:
  PlainGroups(Transaction& transaction, std::span<const StepGroup> groups)
      : transaction_(transaction), groups_(groups), added_(transaction) {}

  // Whether all ids are free and differ: then no group has to look for the rows of another.
  [[nodiscard]] bool have_free_ids() {
    std::vector<TaskId> ids;
    std::vector<NewTask> added;
    for (const StepGroup& group : groups_) {
      for (const Step& step : group.steps) {
        ids.push_back(step.next.task.id);
        added.push_back({.step = &step});
      }
    }
    sort_ids(ids);
    return std::ranges::adjacent_find(ids) == ids.end() && !is_any_id_taken(transaction_.db(), ids, added);
  }

  void apply(std::vector<Applied>& answers) {
    for (const StepGroup& group : groups_) {
      answers.push_back(check(group));
      if (answers.back() != Applied::kDone) continue;
      for (const Step& step : group.steps) added_.add(step);
    }
    added_.write();
  }

 private:
  // Only those of groups that are written are taken.
  [[nodiscard]] Applied check(const StepGroup& group) {
    Requests own;
    for (const Step& step : group.steps) {
      if (!take_request(transaction_, step.next.task, own)) return Applied::kRequestTaken;
    }
    const auto is_taken = [&](const auto& request) { return requests_.contains(request); };
    if (std::ranges::any_of(own, is_taken)) return Applied::kRequestTaken;
    const Applied verdict = check_capacity(transaction_, group);
    if (verdict == Applied::kDone) requests_.merge(own);
    return verdict;
  }

  Transaction& transaction_;
  std::span<const StepGroup> groups_;
  NewTasks added_;
  Requests requests_;
};

}  // namespace

std::vector<Applied> apply_groups(Transaction& transaction, std::span<const StepGroup> groups) {
  std::vector<Applied> answers;
  answers.reserve(groups.size());
  while (answers.size() < groups.size()) {
    const auto rest = groups.subspan(answers.size());
    const auto plain = static_cast<std::size_t>(std::ranges::find_if_not(rest, is_plain) - rest.begin());
    PlainGroups together(transaction, rest.first(plain));
    if (plain > 0 && together.have_free_ids()) {
      together.apply(answers);
      continue;
    }
    for (const StepGroup& group : rest.first(std::max<std::size_t>(plain, 1))) {
      answers.push_back(Group(transaction, group).apply());
    }
  }
  return answers;
}

}  // namespace drover::sqlite
