// Stuck: why everything that waits does so, by cause.
//
// One look at every lane, its gates and the workers, whatever the number of tasks: all tasks of a lane wait for the
// same. Those that wait for answers are counted by the store.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "base/try.h"
#include "core/gate_name.h"
#include "core/lane.h"
#include "core/question_pages.h"
#include "core/spec_check.h"
#include "engine/engine.h"
#include "engine/held.h"
#include "engine/hindrance.h"

namespace drover {
namespace {

using Reason = Explanation::Reason;

// The fleet as it stands: what a claim for one of these lanes would find.
struct Fleet {
  Time now;
  std::vector<WorkerInfo> workers;
  std::map<std::string, GateState> gates;  // those of the lanes
  std::optional<Loss> loss;
};

// Why the tasks of a lane wait, as explain would say of the first of them.
StuckGroup cause_of(const WaitingLane& lane, const Fleet& fleet) {
  StuckGroup group{.tasks = lane.tasks, .since = lane.first.since, .example = lane.first.id, .text = {}};
  const Task& like = lane.like;
  if (fleet.loss) {
    group.reason = Reason::kStoreRegressed;
    group.text = why_nothing_is_claimed(*fleet.loss);
    return group;
  }
  std::vector<GateState> gates;
  for (const std::string& name : gates_of(like)) gates.push_back(fleet.gates.at(name));
  const GateRecord& others = fleet.gates.at(std::string(kOtherOwnersGate)).record;
  if (const auto refused = refusals_of(like, gates, others, fleet.now); !refused.empty()) {
    group.reason = Reason::kGate;
    group.gate = refused.front().gate.name;
    group.at = refused.front().at;
    group.text = fmt::format("{} {}", *group.gate, refused.front().why);
    return group;
  }
  group.queue = like.queue;
  const Serving serving = who_serves(fleet.workers, like, fleet.now);
  group.reason = serving.workers > 0 ? Reason::kInLine : Reason::kNoWorker;
  group.text = serving.workers > 0
                   ? fmt::format("in line in queue {}, which {} serving", like.queue,
                                 serving.workers == 1 ? "1 worker is" : fmt::format("{} workers are", serving.workers))
                   : why_not_served(like, serving);
  return group;
}

// Groups with one cause: it is told by the one that waits longest.
class Causes {
 public:
  void add(StuckGroup found) {
    // Sessions are many: what waits for them is told as one.
    const bool by_session = found.gate && is_session_gate(*found.gate);
    const std::string gate = by_session ? "session:" : found.gate.value_or("");
    const auto [place, is_new] = groups_.try_emplace(
        {found.reason, gate, found.queue.value_or(""), found.reason == Reason::kNoWorker ? found.text : std::string()},
        found);
    if (is_new) return;
    StuckGroup& group = place->second;
    const std::int64_t tasks = group.tasks + found.tasks;
    if (found.since < group.since) group = std::move(found);
    group.tasks = tasks;
  }

  [[nodiscard]] std::vector<StuckGroup> take() && {
    std::vector<StuckGroup> groups;
    for (auto& [cause, group] : groups_) groups.push_back(std::move(group));
    std::ranges::stable_sort(groups, std::greater(), &StuckGroup::tasks);
    return groups;
  }

 private:
  std::map<std::tuple<Reason, std::string, std::string, std::string>, StuckGroup> groups_;
};

// Of these questions, oldest first, the first one of a task that has given way for it.
Result<const Question*> first_awaited(Store& store, std::span<const QuestionRecord> open,
                                      const std::optional<std::string>& owner) {
  std::vector<const Question*> asked;
  std::vector<TaskId> askers;
  for (const QuestionRecord& one : open) {
    if (!one.question.task_id || (owner && one.question.owner != *owner)) continue;
    asked.push_back(&one.question);
    askers.push_back(*one.question.task_id);
  }
  const auto records = TRY(store.read(askers, Parts::kHead));
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::optional<TaskRecord>& record = records[i];
    if (record && waits_for_answer(record->task)) return asked[i];
  }
  return nullptr;
}

// None if no task does.
Result<std::optional<StuckGroup>> answer_waits(Store& store, const std::optional<std::string>& owner, Time now) {
  const std::int64_t tasks = TRY(store.count_answer_waits(owner));
  if (tasks == 0) return std::nullopt;
  std::optional<QuestionId> after;
  for (;;) {
    const auto open = TRY(store.open_questions(after, kQuestionPiece));
    if (open.empty()) return std::nullopt;  // they were answered meanwhile
    if (const Question* oldest = TRY(first_awaited(store, open, owner))) {
      return StuckGroup{.reason = Reason::kQuestion,
                        .tasks = tasks,
                        .since = oldest->asked_at,
                        .example = *oldest->task_id,
                        .text = fmt::format("{} for an answer; the oldest is {}", tasks == 1 ? "waits" : "wait",
                                            in_words(*oldest, now))};
    }
    after = open.back().question.id;
  }
}

void add_first(std::vector<StuckGroup>& groups, StuckGroup group) {
  const auto place = std::ranges::find_if(groups, [&](const StuckGroup& other) { return other.tasks <= group.tasks; });
  groups.insert(place, std::move(group));
}

}  // namespace

Result<StuckReport> Engine::stuck(const std::optional<std::string>& owner) {
  if (owner) {
    if (auto valid = check_name(*owner); !valid) return at_field("owner", valid.error());
  }
  std::vector<WaitingLane> lanes = TRY(store_.lanes(kHeldLanesMax));
  const bool is_all = lanes.size() < kHeldLanesMax;
  if (owner) std::erase_if(lanes, [&](const WaitingLane& lane) { return lane.like.owner != *owner; });
  const Fleet fleet{.now = TRY(store_.now()),
                    .workers = TRY(store_.workers()),
                    .gates = TRY(gates_of_lanes(store_, lanes)),
                    .loss = TRY(store_.state()).loss};
  Causes causes;
  std::int64_t examined = 0;
  for (const WaitingLane& lane : lanes) {
    causes.add(cause_of(lane, fleet));
    examined += lane.tasks;
  }
  StuckReport report{.groups = std::move(causes).take()};
  std::int64_t waiting = 0;
  const auto queues = TRY(owner ? store_.queues_of(*owner) : store_.queues());
  for (const QueueCounts& queue : queues) {
    const auto in = [&](TaskState state) { return queue.tasks[static_cast<std::size_t>(state)]; };
    waiting += in(TaskState::kPending) + in(TaskState::kStalled);
    report.scheduled += in(TaskState::kScheduled);
    report.blocked += in(TaskState::kBlocked);
  }
  if (auto asking = TRY(answer_waits(store_, owner, fleet.now))) {
    report.blocked = std::max<std::int64_t>(0, report.blocked - asking->tasks);
    add_first(report.groups, *std::move(asking));
  }
  if (!is_all) report.unexamined = std::max<std::int64_t>(0, waiting - examined);
  return report;
}

}  // namespace drover
