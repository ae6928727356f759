#include "history/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "history/event_walk.h"

namespace drover::history {
namespace {

// Everything that is known of one task.
struct Case {
  TaskId id;
  std::vector<const Call*> calls;
  std::vector<const Sighting*> sightings;
  std::vector<const LoggedEvent*> events;
  const FinalTask* final = nullptr;
};

// One execution, as the witness saw it. Without a stop it was killed, nobody knows when.
struct Execution {
  int run = 0;
  MonoTime start;
  std::optional<MonoTime> stop;
};

std::map<TaskId, Case> cases_of(const History& history) {
  std::map<TaskId, Case> cases;
  const auto case_of = [&](const TaskId& id) -> Case& {
    Case& found = cases[id];
    found.id = id;
    return found;
  };
  for (const Call& call : history.calls) case_of(call.task).calls.push_back(&call);
  for (const Sighting& sighting : history.sightings) case_of(sighting.task).sightings.push_back(&sighting);
  for (const LoggedEvent& event : history.events) {
    if (!event.task.is_nil()) case_of(event.task).events.push_back(&event);
  }
  for (const FinalTask& task : history.tasks) case_of(task.id).final = &task;
  return cases;
}

class Judge {
 public:
  Judge(const History& history, const Expectations& expectations) : history_(history), expectations_(expectations) {}

  Verdict judge() {
    for (const FinalTask& task : history_.tasks) known_.insert(task.id);
    check_sequence();
    for (const auto& [id, one] : cases_of(history_)) check_case(one);
    return std::move(verdict_);
  }

 private:
  void report(Broken kind, const TaskId& task, std::string detail) {
    verdict_.violations.push_back({kind, task, std::move(detail)});
  }

  void check_sequence() {
    for (std::size_t i = 1; i < history_.events.size(); ++i) {
      const LoggedEvent& before = history_.events[i - 1];
      const LoggedEvent& event = history_.events[i];
      if (event.seq != before.seq + 1) {
        report(Broken::kEventGap, event.task, fmt::format("event {} follows event {}", event.seq, before.seq));
      }
    }
  }

  void check_case(const Case& one) {
    const EventWalk walk(one.events);
    for (const auto& [kind, detail] : walk.findings()) report(kind, one.id, detail);
    verdict_.runs += walk.last_run();
    verdict_.leases_lost += walk.leases_lost();

    check_existence(one, walk);
    check_final_state(one, walk);
    const std::vector<Execution> executions = executions_of(one);
    check_witness(one, walk, executions);
    check_overlap(one, executions);
    check_cancels(one, walk, executions);
  }

  void check_existence(const Case& one, const EventWalk& walk) {
    bool acknowledged = false;
    bool unknown = false;
    for (const Call* call : one.calls) {
      if (call->verb != Call::Verb::kEnqueue) continue;
      acknowledged = acknowledged || call->answer == Call::Answer::kOk;
      unknown = unknown || call->answer == Call::Answer::kUnknown;
    }
    verdict_.acknowledged += acknowledged ? 1 : 0;
    verdict_.unknown += unknown && !acknowledged ? 1 : 0;
    verdict_.recovered += unknown && !acknowledged && one.final != nullptr ? 1 : 0;

    if (acknowledged && one.final == nullptr && !walk.deleted()) {
      report(Broken::kLost, one.id, "its enqueue was acknowledged, and it is not there");
    }
    if (one.final != nullptr && !is_terminal(one.final->state)) {
      report(Broken::kLost, one.id, fmt::format("it never ended: {}", name_of(one.final->state)));
    }
    const bool spawned = one.final != nullptr && one.final->parent_id && known_.contains(*one.final->parent_id);
    const bool exists = one.final != nullptr || !one.events.empty() || !one.sightings.empty();
    if (exists && !acknowledged && !unknown && !spawned) {
      report(Broken::kUnexpected, one.id, "no client was told that it is stored");
    }
  }

  void check_final_state(const Case& one, const EventWalk& walk) {
    if (one.final == nullptr) return;
    const FinalTask& final = *one.final;
    if (walk.state() != final.state) {
      report(Broken::kEventGap, one.id,
             fmt::format("the task is {}, its events end in {}", name_of(final.state),
                         walk.state() ? name_of(*walk.state()) : "nothing"));
    }
    if (walk.last_run() != final.run || walk.generation() != final.generation) {
      report(Broken::kEventGap, one.id,
             fmt::format("the task is at run {} of generation {}, its events at run {} of {}", final.run,
                         final.generation, walk.last_run(), walk.generation()));
    }
  }

  std::vector<Execution> executions_of(const Case& one) {
    std::vector<Execution> executions;
    const auto find = [&](int run) { return std::ranges::find(executions, run, &Execution::run); };
    for (const Sighting* sighting : one.sightings) {
      const auto found = find(sighting->run);
      switch (sighting->kind) {
        case Sighting::Kind::kStart:
          if (found != executions.end()) {
            report(Broken::kRanTwice, one.id, fmt::format("run {} started twice", sighting->run));
          }
          executions.push_back({sighting->run, sighting->at, std::nullopt});
          break;
        case Sighting::Kind::kStop:
          if (found == executions.end() || found->stop) {
            report(Broken::kWitnessDisagrees, one.id, fmt::format("run {} stopped without a start", sighting->run));
          } else {
            found->stop = sighting->at;
          }
          break;
      }
    }
    return executions;
  }

  void check_witness(const Case& one, const EventWalk& walk, const std::vector<Execution>& executions) {
    for (const Execution& execution : executions) {
      if (!walk.was_claimed(execution.run)) {
        report(Broken::kWitnessDisagrees, one.id,
               fmt::format("run {} was executed, but nobody claimed it", execution.run));
      }
    }
    if (one.final == nullptr || one.final->state != TaskState::kCompleted || one.final->fallback) return;
    const auto last = std::ranges::find(executions, one.final->run, &Execution::run);
    if (last == executions.end() || !last->stop) {
      report(Broken::kWitnessDisagrees, one.id,
             fmt::format("it is completed, but run {} was not executed to its end", one.final->run));
    }
  }

  void check_overlap(const Case& one, const std::vector<Execution>& executions) {
    for (std::size_t i = 0; i < executions.size(); ++i) {
      for (std::size_t j = 0; j < executions.size(); ++j) {
        const Execution& first = executions[i];
        const Execution& second = executions[j];
        const bool ordered = first.start < second.start || (first.start == second.start && i < j);
        if (i == j || !ordered || !first.stop) continue;
        const MonoTime end = second.stop ? std::min(*first.stop, *second.stop) : *first.stop;
        const Millis overlap = end - second.start;
        if (overlap <= Millis{0}) continue;
        ++verdict_.overlaps;
        verdict_.overlap_longest = std::max(verdict_.overlap_longest, overlap);
        if (overlap > expectations_.overlap_max) {
          report(Broken::kRunOverlap, one.id,
                 fmt::format("runs {} and {} overlap for {} ms", first.run, second.run, overlap.count()));
        }
      }
    }
  }

  // A cancel that was answered with `cancelled` found the task waiting: nothing may start any more. One that found it
  // running is judged by the event log.
  void check_cancels(const Case& one, const EventWalk& walk, const std::vector<Execution>& executions) {
    for (const Call* call : one.calls) {
      if (call->verb != Call::Verb::kCancel || call->answer != Call::Answer::kOk) continue;
      if (call->state != TaskState::kCancelled) continue;
      for (const Execution& execution : executions) {
        if (execution.start <= call->answered_at || walk.was_reopened_before(execution.run)) continue;
        report(Broken::kStartedAfterCancel, one.id,
               fmt::format("run {} began {} ms after the cancel was acknowledged", execution.run,
                           (execution.start - call->answered_at).count()));
      }
    }
  }

  const History& history_;
  const Expectations& expectations_;
  std::set<TaskId> known_;
  Verdict verdict_;
};

}  // namespace

std::string_view name_of(Broken kind) {
  switch (kind) {
    case Broken::kLost:
      return "lost";
    case Broken::kUnexpected:
      return "unexpected";
    case Broken::kSettledTwice:
      return "settled twice";
    case Broken::kLeaseOverlap:
      return "lease overlap";
    case Broken::kRunOverlap:
      return "run overlap";
    case Broken::kRanTwice:
      return "ran twice";
    case Broken::kStartedAfterCancel:
      return "started after cancel";
    case Broken::kEventGap:
      return "event gap";
    case Broken::kWitnessDisagrees:
      return "witness disagrees";
  }
  std::unreachable();
}

Verdict check(const History& history, const Expectations& expectations) {
  return Judge(history, expectations).judge();
}

std::string to_string(const std::vector<Violation>& violations, std::size_t limit) {
  std::string text;
  for (const Violation& violation : violations) {
    if (limit-- == 0) return text + fmt::format("… {} violations in all\n", violations.size());
    text += fmt::format("{}: task {}: {}\n", name_of(violation.kind), violation.task.to_string(), violation.detail);
  }
  return text;
}

}  // namespace drover::history
