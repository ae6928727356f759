// Settle: a run ended, as its worker reports it. The fence is here: only the live lease may speak.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/json.h"
#include "base/planted_bug.h"
#include "base/text.h"
#include "base/try.h"
#include "core/run_report.h"
#include "engine/cascade.h"
#include "engine/engine.h"
#include "engine/run_gates.h"
#include "engine/run_spend.h"
#include "engine/suspend.h"

namespace drover {

namespace {

constexpr std::size_t kErrorMessageBytesMax = 16'384;
// How far back a repeated settlement is looked for: whoever repeats one does so soon.
constexpr int kReplayedRunsMax = 100;

// Long messages keep head and tail, and say what was left out.
std::string fit_message(std::string_view text) {
  const std::string clean = to_utf8(text);
  if (clean.size() <= kErrorMessageBytesMax) return clean;
  const std::size_t half = kErrorMessageBytesMax / 2;
  return to_utf8(fmt::format("{}\n… {} bytes left out …\n{}", clean.substr(0, half), clean.size() - 2 * half,
                             clean.substr(clean.size() - half)));
}

Result<Trigger> completion_trigger(const Completion& completion, const RunReport& report, const Limits& limits) {
  Completion checked = completion;
  if (checked.note) checked.note = fit_message(*checked.note);
  if (checked.result) {
    auto compact = TRY(json::compact(*checked.result));
    if (compact.size() > static_cast<std::size_t>(limits.result_bytes)) {
      return fail(ErrorCode::kResultTooLarge,
                  fmt::format("the result has {} bytes; at most {} are kept", compact.size(), limits.result_bytes));
    }
    checked.result = std::move(compact);
  }
  return trigger::Complete{std::move(checked), report};
}

Result<Trigger> trigger_of(const Settlement& item, const Limits& limits) {
  TRY(check_report(item.report));
  if (const auto* completion = std::get_if<Completion>(&item.end)) {
    return completion_trigger(*completion, item.report, limits);
  }
  if (const auto* failure = std::get_if<Failure>(&item.end)) {
    Failure fitted = *failure;
    fitted.message = fit_message(failure->message);
    if (fitted.note) fitted.note = fit_message(*fitted.note);
    if (fitted.retry_after && *fitted.retry_after < Millis{0}) fitted.retry_after = Millis{0};
    return trigger::Fail{std::move(fitted), item.report};
  }
  if (const auto* confirmed = std::get_if<CancelConfirmed>(&item.end))
    return trigger::ConfirmCancel{confirmed->exit_code, item.report};
  if (const auto* suspend = std::get_if<Suspend>(&item.end))
    return trigger::Suspend{.exit_code = suspend->exit_code, .report = item.report};
  return trigger::Release{std::get<Release>(item.end).begun, item.report};
}

Status check_fence(const TaskRecord& record, const Lease& lease) {
  if (planted(PlantedBug::kSettleIgnoresLease) && record.task.state == TaskState::kRunning) return {};
  if (record.task.state != TaskState::kRunning || record.lease != lease.id || lease.id.is_none()) {
    return fail(ErrorCode::kStaleLease, fmt::format("this lease of task {} has ended; the task is {}",
                                                    lease.task.to_string(), name_of(record.task.state)));
  }
  return {};
}

// One attempt at settling a batch: everything that is read and decided between two compare-and-sets.
class Settle {
 public:
  // A group of steps, and the items that it settles.
  struct Decided {
    StepGroup group;
    std::vector<std::size_t> items;
  };

  // What `recent` knows is not read again; null to read everything.
  Settle(Store& store, Rng& rng, const Policy& policy, Time now, std::span<const Settlement> items, RecentReads* recent)
      : store_(store),
        rng_(rng),
        policy_(policy),
        now_(now),
        items_(items),
        recent_(recent),
        view_(store),
        gates_(policy, now) {}

  // Answers as if every group were applied. What cannot be settled is answered with its error and is in no group.
  Result<std::vector<Decided>> decide(std::span<const std::size_t> open, std::vector<Result<Settled>>& answers) {
    TRY(read(open));
    std::vector<Decided> all;
    all.reserve(open.size());
    std::vector<std::size_t> together;
    for (const std::size_t i : open) {
      const auto record = live_record(items_[i].lease);
      if (!record || stands_alone(**record, items_[i])) {
        all.push_back(decide_alone(i, record, answers[i]));
      } else {
        records_.emplace(i, **record);
        together.push_back(i);
      }
    }
    if (!together.empty()) {
      all.push_back(decide_group(together, answers));
      all.back().group.gates = gates_of(together);
    }
    std::erase_if(all, [](const Decided& decided) { return decided.items.empty(); });
    return all;
  }

 private:
  Status read(std::span<const std::size_t> open) {
    std::vector<TaskId> ids;
    for (const std::size_t i : open) {
      const Lease& lease = items_[i].lease;
      auto claimed = recent_ != nullptr ? recent_->take_claimed(lease) : std::nullopt;
      // A cancel was asked for, and children were spawned, after the claim: what the claim said is of no use to these.
      const bool is_later =
          std::holds_alternative<CancelConfirmed>(items_[i].end) || std::holds_alternative<Suspend>(items_[i].end);
      if (claimed && !is_later) {
        view_.put(*std::move(claimed));
      } else {
        ids.push_back(lease.task);
      }
    }
    TRY(view_.prefetch(ids));
    for (const std::size_t i : open) {
      // A lease that ended has no say about gates either; its item is answered when its turn comes.
      const auto record = live_record(items_[i].lease);
      if (record) gates_.announce(**record, items_[i]);
    }
    return gates_.read(store_, recent_);
  }

  // Whether no other item of this call can touch what this one touches. All others are one group: decided apart, one
  // would stand on what another is about to write, and be applied although that was refused, should somebody else have
  // written meanwhile and the revision be the expected one by chance.
  [[nodiscard]] bool stands_alone(const TaskRecord& record, const Settlement& item) const {
    return record.dependents == 0 && record.children == 0 && !record.task.parent_id &&
           !std::holds_alternative<Suspend>(item.end) && !gates_.moves_gates(record, item);
  }

  // What the items of one group do to gates, and what they rely on; of each gate once.
  std::vector<GateStep> gates_of(std::span<const std::size_t> group) {
    std::vector<GateStep> steps = gates_.take_steps();
    for (const std::size_t i : group) {
      // Of one that moves a gate the others must still be at rest, too.
      for (GateStep& check : gates_.checks(records_.at(i), items_[i])) {
        const auto same = [&](const GateStep& step) { return step.name == check.name; };
        if (std::ranges::none_of(steps, same)) steps.push_back(std::move(check));
      }
    }
    return steps;
  }

  static Result<const TaskRecord*> fenced(const TaskRecord& record, const Lease& lease) {
    TRY(check_fence(record, lease));
    return &record;
  }

  // Good until the view is told something new.
  Result<const TaskRecord*> live_record(const Lease& lease) {
    const TaskRecord* record = TRY(view_.find_head(lease.task));
    if (record == nullptr)
      return fail(ErrorCode::kNotFound, fmt::format("there is no task {}", lease.task.to_string()));
    return fenced(*record, lease);
  }

  // The record is not looked at again, so it is moved through the decision; whoever settles the same task twice makes
  // another group of it, which the store refuses.
  Decided decide_alone(std::size_t i, const Result<const TaskRecord*>& record, Result<Settled>& answer) {
    const Settlement& item = items_[i];
    Decided decided;
    auto trigger = checked_trigger(item, record);
    if (!trigger) {
      answer = std::unexpected(trigger.error());
      return decided;
    }
    std::vector<GateStep> gates = gates_.checks(**record, item);
    Cascade cascade(view_, rng_, policy_, now_);
    if (auto status = cascade.run(view_.take(item.lease.task), *trigger); !status) {
      answer = std::unexpected(status.error());
      return decided;
    }
    answer = cascade.decided(item.lease.task)->task.state;
    decided.items.push_back(i);
    decided.group = cascade.take_last();
    decided.group.gates = std::move(gates);
    return decided;
  }

  // Only who suspends has more to look at than its own record.
  Status end_run(TaskRecord record, const Settlement& item, const Trigger& trigger, Cascade& cascade) {
    if (const auto* suspend = std::get_if<Suspend>(&item.end)) {
      return suspend_task(view_, cascade, policy_, record, *suspend, item.report);
    }
    return cascade.run(std::move(record), trigger);
  }

  Decided decide_group(std::span<const std::size_t> group, std::vector<Result<Settled>>& answers) {
    Cascade cascade(view_, rng_, policy_, now_);
    Decided decided;
    for (const std::size_t i : group) {
      auto state = decide_item(items_[i], cascade);
      if (state) decided.items.push_back(i);
      answers[i] = std::move(state);
      if (const auto failed = std::exchange(failed_, std::nullopt)) return abandon(group, *failed, answers);
    }
    decided.group = cascade.take();
    return decided;
  }

  // The store failed in the middle of a decision: nothing of the group is known.
  static Decided abandon(std::span<const std::size_t> group, const Error& error,
                         std::vector<Result<Settled>>& answers) {
    for (const std::size_t i : group) answers[i] = std::unexpected(error);
    return {};
  }

  // A result that breaks the contract of its type is refused, and the lease stays. A cancel has no use for a result.
  Status check_contract(const Task& task, const Trigger& trigger) const {
    const auto* complete = std::get_if<trigger::Complete>(&trigger);
    if (complete == nullptr || task.cancel_requested_at) return {};
    return check_result(policy_.type(task.type).contract, complete->completion.result);
  }

  // What an item asks for, if the record that it settles allows it.
  [[nodiscard]] Result<Trigger> checked_trigger(const Settlement& item, const Result<const TaskRecord*>& record) const {
    auto trigger = trigger_of(item, policy_.limits);
    if (!trigger) return trigger;
    TRY(record);
    TRY(check_contract((*record)->task, *trigger));
    return trigger;
  }

  Result<Settled> decide_item(const Settlement& item, Cascade& cascade) {
    const TaskId& id = item.lease.task;
    const TaskRecord* decided = cascade.decided(id);
    const auto record = decided != nullptr ? fenced(*decided, item.lease) : live_record(item.lease);
    const auto trigger = TRY(checked_trigger(item, record));
    // Of the record as it was; the cascade moves what the pointer may point at.
    const bool moves_gates = gates_.moves_gates(**record, item);
    const TaskRecord before = moves_gates ? **record : TaskRecord();
    if (auto status = end_run(**record, item, trigger, cascade); !status) {
      if (cascade.decided(id) != nullptr) failed_ = status.error();
      return std::unexpected(status.error());
    }
    const TaskState after = cascade.decided(id)->task.state;
    if (!moves_gates) return after;
    gates_.tell(before, item);
    if (const Status told = gates_.tell_session(before, after, item); !told) {
      failed_ = told.error();
      return std::unexpected(told.error());
    }
    return after;
  }

  Store& store_;
  Rng& rng_;
  const Policy& policy_;
  Time now_;
  std::span<const Settlement> items_;
  RecentReads* recent_;
  RecordView view_;
  RunGates gates_;
  std::map<std::size_t, TaskRecord> records_;  // of the items that are decided together
  std::optional<Error> failed_;
};

}  // namespace

Result<ReportAnswer> Engine::report(const Lease& lease, const RunReport& report) {
  TRY(check_report(report));
  if (report.evidence) return drover::fail(ErrorCode::kInvalidArgument, "evidence comes with the end of a run");
  if (report.is_empty()) return ReportAnswer{};
  const auto policy = TRY(this->policy());
  const Time now = TRY(store_.now());
  TRY(begin_periods(policy, now));
  recent_.forget_claimed(lease.task);
  ReportAnswer answer;
  TRY(change(lease.task, Parts::kHead, "report", [&](RecordView& view, const TaskRecord& record) -> Result<StepGroup> {
    TRY(check_fence(record, lease));
    RunGates gates(*policy, now);
    const ProviderSignal said = report.provider.value_or(ProviderSignal{});
    gates.announce(record, said);
    TRY(gates.read(store_, nullptr));
    gates.tell(record, said);
    std::vector<GateStep> moved = gates.take_steps();
    std::erase_if(moved, [](const GateStep& step) { return !step.next; });
    Cascade cascade(view, rng_, *policy, now);
    TRY(cascade.run(record, trigger::Report{report}));
    const TaskRecord told = *cascade.decided(lease.task);
    StepGroup group = cascade.take_last();
    group.gates = std::move(moved);
    RunSpend spend(store_, rng_, *policy, now);
    answer.stop = TRY(spend.judge(record, told, report.at_door, group));
    // Nothing new: nothing to write.
    const bool is_same = told.task.usage == record.task.usage && told.task.agent == record.task.agent &&
                         group.steps.front().next.run_budget == record.run_budget;
    return is_same && group.gates.empty() ? StepGroup{} : std::move(group);
  }));
  return answer;
}

// Only what was refused comes here, so a settlement that is the first pays nothing for this.
Result<Settled> Engine::replay(const Settlement& item, const Error& stale) {
  const auto runs = TRY(store_.runs(item.lease.task, kReplayedRunsMax));
  for (const RunSummary& run : runs) {
    const std::optional<RunSettlement>& settlement = run.settlement;
    if (!settlement || settlement->lease != item.lease.id || item.lease.id.is_none()) continue;
    if (settlement->kind != kind_of(item)) return std::unexpected(stale);
    Settled settled(settlement->state);
    settled.replayed = run.outcome;
    return settled;
  }
  return refuse_late(item, stale);
}

// A worker that cannot be told apart from a broken one may say it many times: the event comes once.
Result<Settled> Engine::refuse_late(const Settlement& item, const Error& stale) {
  const auto tell = [&](RecordView& /*view*/, const TaskRecord& record) -> Result<StepGroup> {
    StepGroup group;
    if (auto step = refuse_late_result(record, item)) group.steps.push_back(*std::move(step));
    return group;
  };
  TRY(change(item.lease.task, Parts::kHead, "settle", tell));
  return std::unexpected(stale);
}

std::vector<Result<Settled>> Engine::settle(std::span<const Settlement> items) {
  std::vector<Result<Settled>> answers(items.size(), too_much_contention("settle"));
  const auto fail_rest = [&](std::span<const std::size_t> rest, const Error& error) {
    for (const std::size_t i : rest) answers[i] = std::unexpected(error);
    return answers;
  };
  std::vector<std::size_t> open(items.size());
  std::iota(open.begin(), open.end(), std::size_t{0});

  for (int attempt = 0; attempt < kDecideTriesMax && !open.empty(); ++attempt) {
    auto policy = this->policy();
    if (!policy) return fail_rest(open, policy.error());
    auto now = time_of_end();
    if (!now) return fail_rest(open, now.error());
    if (const Status begun = begin_periods(*policy, *now); !begun) return fail_rest(open, begun.error());
    // A second attempt means that something has moved: it goes by what the store says.
    if (attempt > 0) recent_.forget_gates();
    Settle settle(store_, rng_, **policy, *now, items, attempt == 0 ? &recent_ : nullptr);
    auto decided = settle.decide(open, answers);
    if (!decided) return fail_rest(open, decided.error());
    // No compare-and-set stands behind a refusal: one that was decided from a guess is decided again.
    if (attempt > 0) open.clear();
    std::erase_if(open, [&](std::size_t i) { return answers[i].has_value(); });
    if (decided->empty()) continue;
    std::vector<StepGroup> groups;
    for (Settle::Decided& one : *decided) groups.push_back(std::move(one.group));
    auto applied = store_.apply(groups);
    for (std::size_t k = 0; k < groups.size(); ++k) {
      const std::vector<std::size_t>& settled = (*decided)[k].items;
      if (!applied) {
        fail_rest(settled, applied.error());
      } else if ((*applied)[k] != Applied::kDone) {
        fail_rest(settled, too_much_contention("settle").error());
        open.insert(open.end(), settled.begin(), settled.end());
      }
    }
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!answers[i] && answers[i].error().code == ErrorCode::kStaleLease) {
      answers[i] = replay(items[i], answers[i].error());
    }
  }
  return answers;
}

}  // namespace drover
