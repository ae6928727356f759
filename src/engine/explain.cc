// Explain: why a task is not running, and what will release it.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/try.h"
#include "core/gate_name.h"
#include "core/lane.h"
#include "core/policy.h"
#include "core/transition.h"
#include "engine/engine.h"
#include "engine/hindrance.h"
#include "engine/sessions.h"

namespace drover {

namespace {

using Reason = Explanation::Reason;

constexpr std::size_t kParentsShown = 100;
constexpr std::size_t kChainMax = 100;

Explanation explain_running(const Task& task) {
  Explanation answer{.reason = Reason::kRunning};
  answer.text = fmt::format("it runs on {} since {}", task.worker_id.value_or("a worker"),
                            format_time(task.started_at.value_or(Time{})));
  if (task.cancel_requested_at) answer.text += ", and was asked to stop";
  return answer;
}

Explanation explain_ended(const Task& task) {
  Explanation answer{.reason = Reason::kEnded};
  answer.text = fmt::format("it is {}", name_of(task.state));
  if (task.error) answer.text += fmt::format(": {}", task.error->message);
  if (task.state != TaskState::kCompleted)
    answer.text += fmt::format("; `drover retry {}` runs it again", task.id.to_string());
  return answer;
}

Explanation explain_scheduled(const Task& task) {
  Explanation answer{.reason = Reason::kScheduled, .at = task.run_at};
  answer.text = fmt::format("it waits until {}", format_time(task.run_at.value_or(Time{})));
  if (task.error)
    answer.text += fmt::format(", because its latest run failed with {}", name_of(task.error->error_class));
  return answer;
}

Explanation explain_gates(std::vector<Refusal> refusals) {
  Explanation answer{.reason = Reason::kGate, .gate = refusals.front().gate.name};
  answer.text = fmt::format("{} {}", refusals.front().gate.name, refusals.front().why);
  if (refusals.size() > 1)
    answer.text += fmt::format("; and {} more", counted(static_cast<std::int64_t>(refusals.size()) - 1, "gate"));
  // It goes when the last of them lets it go; if one has no time, nobody knows.
  answer.at = refusals.front().at;
  for (Refusal& refusal : refusals) {
    answer.at = answer.at && refusal.at ? std::optional(std::max(*answer.at, *refusal.at)) : std::nullopt;
    answer.refusing.push_back(std::move(refusal.gate));
  }
  return answer;
}

Explanation explain_line(const Task& task, const LanePosition& position, const Serving& serving) {
  const int workers = serving.workers;
  Explanation answer{.reason = workers > 0 ? Reason::kInLine : Reason::kNoWorker, .ahead = position.ahead};
  if (workers == 0) {
    answer.text = why_not_served(task, serving);
    return answer;
  }
  const std::string ahead =
      position.ahead >= kAheadMax ? fmt::format("{} or more", kAheadMax) : fmt::format("{}", position.ahead);
  answer.text = fmt::format("it stands in line in queue {}, priority {}: {} ahead of it in its lane, {} serving it",
                            task.queue, task.priority, ahead, counted(workers, "worker"));
  return answer;
}

// Before anything else that holds it: no claim asks for that.
Explanation explain_regression(const Loss& loss, const Explanation& afterwards) {
  Explanation answer{.reason = Reason::kStoreRegressed, .refusing = afterwards.refusing, .ahead = afterwards.ahead};
  answer.text = fmt::format("{}; then: {}", why_nothing_is_claimed(loss), afterwards.text);
  return answer;
}

struct Unmet {
  std::size_t unmet = 0;
  std::size_t all = 0;
};

// A task that has suspended waits for its children; it may wait for a parent, too, that is tried again.
std::string waits_text(const Unmet& parents, const Unmet& children) {
  const auto text = [](const Unmet& of, std::string_view one, std::string_view many) {
    return fmt::format("{} of {} {}", of.unmet, of.all, of.all == 1 ? one : many);
  };
  if (children.all == 0) return "it waits for " + text(parents, "parent", "parents");
  std::string waits = "it waits for " + text(children, "child", "children");
  if (parents.unmet > 0) waits += " and " + text(parents, "parent", "parents");
  return waits;
}

class Explain {
 public:
  Explain(Store& store, Time now) : store_(store), now_(now) {}

  // None: the task moved while it was looked at.
  Result<std::optional<Explanation>> of(const TaskRecord& record) {
    auto answer = TRY(of_one(record));
    if (answer && answer->reason == Reason::kBlocked) TRY(follow_parents(*answer));
    return answer;
  }

 private:
  // The first parent of each that is not done. What moves meanwhile ends the chain.
  Status follow_parents(Explanation& answer) {
    std::vector<TaskId> waits_for = answer.waits_for;
    while (!waits_for.empty() && answer.chain.size() < kChainMax) {
      const auto read = TRY(store_.read(std::span(waits_for).first(1), Parts::kHead));
      const std::optional<TaskRecord>& parent = read.front();
      if (!parent) return {};
      auto explained = TRY(of_one(*parent));
      if (!explained) return {};
      const Task& task = parent->task;
      answer.chain.push_back({.id = task.id,
                              .owner = task.owner,
                              .state = task.state,
                              .reason = explained->reason,
                              .text = std::move(explained->text),
                              .gate = std::move(explained->gate),
                              .at = explained->at});
      waits_for = std::move(explained->waits_for);
    }
    return {};
  }

  Result<std::optional<Explanation>> of_one(const TaskRecord& record) {
    const Task& task = record.task;
    switch (task.state) {
      case TaskState::kRunning:
        return explain_running(task);
      case TaskState::kCompleted:
      case TaskState::kFailed:
      case TaskState::kCancelled:
        return explain_ended(task);
      case TaskState::kScheduled:
        return explain_scheduled(task);
      case TaskState::kBlocked:
        return of_blocked(record);
      case TaskState::kPending:
      case TaskState::kStalled:
        return of_claimable(task);
    }
    std::unreachable();
  }

  Result<std::optional<Explanation>> of_blocked(const TaskRecord& record) {
    auto whole = TRY(store_.read(std::span(&record.task.id, 1), Parts::kAll));
    const std::optional<TaskRecord>& stored = whole.front();
    if (!stored) return std::nullopt;
    const std::vector<TaskId>& parents = stored->task.depends_on;
    const auto read = TRY(store_.read(parents, Parts::kHead));
    Explanation answer{.reason = Reason::kBlocked};
    const std::size_t given = given_parents(*stored).size();
    Unmet of_given{.all = given};
    Unmet of_children{.all = parents.size() - given};
    for (std::size_t i = 0; i < read.size(); ++i) {
      const std::optional<TaskRecord>& parent = read[i];
      if (!parent || is_terminal(parent->task.state)) continue;
      if (answer.waits_for.size() < kParentsShown) answer.waits_for.push_back(parent->task.id);
      ++(i < given ? of_given : of_children).unmet;
    }
    answer.text = waits_text(of_given, of_children);
    if (stored->task.open_questions > 0) TRY(add_questions(*stored, of_given.unmet + of_children.unmet > 0, answer));
    return answer;
  }

  // What it waits for beside its parents.
  Status add_questions(const TaskRecord& record, bool waits_for_parents, Explanation& answer) {
    const auto asked = TRY(store_.questions_of(record.task.id));
    const auto open = std::ranges::find_if(
        asked, [](const QuestionRecord& one) { return one.question.state == QuestionState::kOpen; });
    if (open == asked.end()) return {};  // it was answered meanwhile
    const std::string question = "an answer to " + in_words(open->question, now_);
    const std::string others = record.task.open_questions > 1
                                   ? fmt::format(" and {} more", counted(record.task.open_questions - 1, "question"))
                                   : "";
    answer.text = waits_for_parents ? fmt::format("{}, and for {}{}", answer.text, question, others)
                                    : fmt::format("it waits for {}{}", question, others);
    if (waits_for_parents) return {};
    answer.reason = Reason::kQuestion;
    answer.at = open->question.expires_at;
    return {};
  }

  Result<std::vector<Refusal>> refusals(const Task& task) {
    std::vector<std::string> names = gates_of(task);
    names.emplace_back(kOtherOwnersGate);
    const auto states = TRY(store_.read_gates(names));
    return refusals_of(task, std::span(states).first(states.size() - 1), states.back().record, now_);
  }

  // Whoever waits for a session wants to know for whom.
  Result<std::optional<Explanation>> of_refused(std::vector<Refusal> refused) {
    Refusal& first = refused.front();
    if (is_session_gate(first.gate.name) && !first.gate.closed_until) {
      const auto holder = TRY(holder_of_session(store_, first.gate.name, now_));
      if (holder) first.why = fmt::format("is in use by task {}; its end lets the next one start", holder->to_string());
    }
    return explain_gates(std::move(refused));
  }

  Result<std::optional<Explanation>> of_waiting(const Task& task) {
    const std::optional<LanePosition> position = TRY(store_.lane_position(task.id));
    if (!position) return std::nullopt;
    auto refused = TRY(refusals(task));
    if (!refused.empty()) return of_refused(std::move(refused));
    auto workers = TRY(store_.workers());
    return explain_line(task, *position, who_serves(workers, task, now_));
  }

  Result<std::optional<Explanation>> of_claimable(const Task& task) {
    const auto state = TRY(store_.state());
    auto explained = of_waiting(task);
    const std::optional<Loss>& loss = state.loss;
    if (!loss || !explained) return explained;
    const std::optional<Explanation>& afterwards = *explained;
    return afterwards ? explain_regression(*loss, *afterwards) : afterwards;
  }

  Store& store_;
  Time now_;
};

}  // namespace

Result<Explanation> Engine::explain(const TaskId& id) {
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    auto now = TRY(store_.now());
    auto records = TRY(store_.read(std::span(&id, 1), Parts::kHead));
    const std::optional<TaskRecord>& record = records.front();
    if (!record) return drover::fail(ErrorCode::kNotFound, fmt::format("there is no task {}", id.to_string()));
    std::optional<Explanation> answer = TRY(Explain(store_, now).of(*record));
    if (answer) return *std::move(answer);
  }
  return too_much_contention("explain");
}

}  // namespace drover
