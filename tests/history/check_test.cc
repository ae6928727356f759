// Histories with one planted fault each: the checker must find every kind, and nothing in a good one.
#include "history/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

namespace drover::history {
namespace {

using enum TaskState;

constexpr int kTasks = 3;

TaskId id_of(int number) {
  TaskId::Bytes bytes{};
  bytes[15] = static_cast<std::uint8_t>(number);
  return TaskId(bytes);
}

MonoTime at(int ms) {
  return MonoTime{Millis{ms}};
}

// Writes a history the way a fleet would.
class Story {
 public:
  Story& enqueue(int task, TaskState state = kPending) {
    history.calls.push_back({Call::Verb::kEnqueue, id_of(task), at(now_), at(now_ + 1), Call::Answer::kOk, state});
    event(task, "task.enqueued", state);
    history.tasks.push_back({.id = id_of(task), .state = state});
    return *this;
  }
  Story& claim(int task) {
    final(task).run += 1;
    return event(task, "task.claimed", kRunning);
  }
  Story& start(int task) { return see(task, Sighting::Kind::kStart); }
  Story& stop(int task) { return see(task, Sighting::Kind::kStop); }
  Story& event(int task, std::string_view name, TaskState state) {
    FinalTask* known = find(task);
    if (known != nullptr) known->state = state;
    history.events.push_back({.seq = ++seq_,
                              .name = std::string(name),
                              .task = id_of(task),
                              .state = state,
                              .run = known == nullptr ? 0 : known->run,
                              .generation = known == nullptr ? 1 : known->generation});
    now_ += 10;
    return *this;
  }
  Story& cancel(int task, TaskState answer) {
    history.calls.push_back({Call::Verb::kCancel, id_of(task), at(now_), at(now_ + 1), Call::Answer::kOk, answer});
    return answer == kRunning ? event(task, "task.cancel_requested", kRunning)
                              : event(task, "task.cancelled", kCancelled);
  }
  Story& retry(int task) {
    history.calls.push_back({Call::Verb::kRetry, id_of(task), at(now_), at(now_ + 1), Call::Answer::kOk, kPending});
    final(task).generation += 1;
    return event(task, "task.retried", kPending);
  }
  Story& run_to_end(int task) { return claim(task).start(task).stop(task).event(task, "task.completed", kCompleted); }

  FinalTask& final(int task) { return *find(task); }
  FinalTask* find(int task) {
    for (FinalTask& known : history.tasks) {
      if (known.id == id_of(task)) return &known;
    }
    return nullptr;
  }

  History history;

 private:
  Story& see(int task, Sighting::Kind kind) {
    history.sightings.push_back({id_of(task), final(task).run, kind, 100 + task, at(now_)});
    now_ += 10;
    return *this;
  }

  std::int64_t seq_ = 0;
  int now_ = 1'000;
};

// Task 1 completes at once, 2 loses its worker and completes elsewhere, 3 is cancelled, retried and completes.
Story good_story() {
  Story story;
  story.enqueue(1).enqueue(2).enqueue(3, kScheduled);
  story.run_to_end(1);
  story.claim(2).start(2).event(2, "task.stalled", kStalled).run_to_end(2);
  story.cancel(3, kCancelled).retry(3).run_to_end(3);
  return story;
}

std::set<Broken> kinds_of(const History& history) {
  std::set<Broken> kinds;
  for (const Violation& violation : check(history).violations) kinds.insert(violation.kind);
  return kinds;
}

// The events of a task by their place among its own.
std::vector<LoggedEvent>::iterator event_of(History& history, int task, std::string_view name) {
  return std::ranges::find_if(
      history.events, [&](const LoggedEvent& event) { return event.task == id_of(task) && event.name == name; });
}

TEST(HistoryCheckTest, FindsNothingInAGoodHistory) {
  const Verdict verdict = check(good_story().history);
  EXPECT_TRUE(verdict.violations.empty()) << to_string(verdict.violations);
  EXPECT_EQ(verdict.acknowledged, kTasks);
  EXPECT_EQ(verdict.runs, 4);
  EXPECT_EQ(verdict.leases_lost, 1);
  EXPECT_EQ(verdict.overlaps, 0);
}

TEST(HistoryCheckTest, TakesEveryLegalWay) {
  Story story;
  story.enqueue(1, kBlocked).event(1, "task.unblocked", kScheduled).event(1, "task.due", kPending);
  story.claim(1).event(1, "task.progressed", kRunning).event(1, "task.retrying", kScheduled);
  story.event(1, "task.due", kPending).claim(1).event(1, "task.deferred", kScheduled).event(1, "task.due", kPending);
  story.claim(1).event(1, "task.released", kPending).claim(1).event(1, "task.failed", kFailed);
  story.enqueue(2, kBlocked).event(2, "task.failed", kFailed).final(2).generation += 1;
  story.event(2, "task.revived", kBlocked).event(2, "task.deadline_passed", kFailed);
  story.enqueue(3).claim(3).start(3).cancel(3, kRunning).event(3, "task.cancelled", kCancelled);
  story.enqueue(4, kCancelled).event(4, "task.cancelled", kCancelled);  // its parent had ended
  const Verdict verdict = check(story.history);
  EXPECT_TRUE(verdict.violations.empty()) << to_string(verdict.violations);
}

TEST(HistoryCheckTest, TakesAnUnknownEnqueueEitherWay) {
  Story story;
  story.enqueue(1).run_to_end(1).history.calls.front().answer = Call::Answer::kUnknown;
  story.history.calls.push_back({.task = id_of(2), .answer = Call::Answer::kUnknown});
  const Verdict verdict = check(story.history);
  EXPECT_TRUE(verdict.violations.empty()) << to_string(verdict.violations);
  EXPECT_EQ(verdict.unknown, 2);
  EXPECT_EQ(verdict.recovered, 1);
}

TEST(HistoryCheckTest, TakesChildrenOfKnownTasks) {
  Story story = good_story();
  story.enqueue(4).run_to_end(4).final(4).parent_id = id_of(1);
  std::erase_if(story.history.calls, [](const Call& call) { return call.task == id_of(4); });
  EXPECT_TRUE(kinds_of(story.history).empty());
}

TEST(HistoryCheckTest, AllowsAsMuchOverlapAsExpected) {
  Story story = good_story();
  auto& seen = story.history.sightings;
  const auto first = std::ranges::find(seen, id_of(2), &Sighting::task);
  Sighting late = *first;
  late.kind = Sighting::Kind::kStop;
  late.at = at(1'000'000);
  seen.push_back(late);
  const Verdict verdict = check(story.history, {.overlap_max = Millis{10}});
  EXPECT_TRUE(verdict.violations.empty()) << to_string(verdict.violations);
  EXPECT_EQ(verdict.overlaps, 1);
  EXPECT_EQ(verdict.overlap_longest, Millis{10});
  EXPECT_FALSE(check(story.history, {.overlap_max = Millis{9}}).violations.empty());
}

struct Plant {
  const char* name;
  Broken kind;
  std::function<void(Story&)> plant;
};

void PrintTo(const Plant& plant, std::ostream* out) {
  *out << plant.name;
}

class PlantedHistoryTest : public testing::TestWithParam<Plant> {};

TEST_P(PlantedHistoryTest, IsRejected) {
  Story story = good_story();
  GetParam().plant(story);
  const Verdict verdict = check(story.history);
  EXPECT_TRUE(kinds_of(story.history).contains(GetParam().kind)) << to_string(verdict.violations);
}

void drop_event(Story& story, int task, std::string_view name) {
  story.history.events.erase(event_of(story.history, task, name));
}

const Plant kPlants[] = {
    {"AcknowledgedTaskIsAbsent", Broken::kLost,
     [](Story& s) { std::erase_if(s.history.tasks, [](const FinalTask& t) { return t.id == id_of(1); }); }},
    {"AcknowledgedTaskNeverEnds", Broken::kLost, [](Story& s) { s.enqueue(4); }},
    {"AcknowledgedTaskLeftNoTrace", Broken::kLost,
     [](Story& s) { s.history.calls.push_back({.task = id_of(9), .answer = Call::Answer::kOk}); }},
    {"TaskFromNowhere", Broken::kUnexpected,
     [](Story& s) { std::erase_if(s.history.calls, [](const Call& c) { return c.task == id_of(1); }); }},
    {"RefusedTaskIsStored", Broken::kUnexpected,
     [](Story& s) { s.history.calls.front().answer = Call::Answer::kRefused; }},
    {"UnknownTaskWasExecuted", Broken::kUnexpected,
     [](Story& s) { s.history.sightings.push_back({id_of(9), 1, Sighting::Kind::kStart, 7, at(5'000)}); }},
    {"ChildOfAnUnknownTask", Broken::kUnexpected,
     [](Story& s) {
       s.enqueue(4).run_to_end(4).final(4).parent_id = id_of(9);
       std::erase_if(s.history.calls, [](const Call& c) { return c.task == id_of(4); });
     }},
    {"CompletedTwice", Broken::kSettledTwice, [](Story& s) { s.event(1, "task.completed", kCompleted); }},
    {"FailedAfterCompletion", Broken::kSettledTwice, [](Story& s) { s.event(1, "task.failed", kFailed); }},
    {"ClaimedAfterCompletion", Broken::kSettledTwice, [](Story& s) { s.run_to_end(1); }},
    {"CompletedTaskRetried", Broken::kSettledTwice, [](Story& s) { s.retry(1).run_to_end(1); }},
    {"ClaimedWhileLeased", Broken::kLeaseOverlap, [](Story& s) { drop_event(s, 2, "task.stalled"); }},
    {"EarlierRunEndsWhileLeased", Broken::kLeaseOverlap,
     [](Story& s) { event_of(s.history, 2, "task.completed")->run = 1; }},
    {"ExecutionsOverlap", Broken::kRunOverlap,
     [](Story& s) { s.history.sightings.push_back({id_of(2), 1, Sighting::Kind::kStop, 102, at(1'000'000)}); }},
    {"SecondExecutionInsideTheFirst", Broken::kRunOverlap,
     [](Story& s) {
       for (Sighting& seen : s.history.sightings) {
         if (seen.task == id_of(2) && seen.run == 1) seen.at = at(1);
       }
       s.history.sightings.push_back({id_of(2), 1, Sighting::Kind::kStop, 102, at(1'000'000)});
     }},
    {"OneRunExecutedTwice", Broken::kRanTwice,
     [](Story& s) { s.history.sightings.push_back({id_of(1), 1, Sighting::Kind::kStart, 9, at(9'000)}); }},
    {"StartedAfterCancel", Broken::kStartedAfterCancel,
     [](Story& s) {
       s.enqueue(4).cancel(4, kCancelled);
       s.final(4).run = 1;
       s.start(4);
     }},
    {"StartedAfterSecondCancel", Broken::kStartedAfterCancel,
     [](Story& s) { s.enqueue(4).cancel(4, kCancelled).retry(4).cancel(4, kCancelled).claim(4).start(4).stop(4); }},
    {"ClaimedAfterCancelRequest", Broken::kStartedAfterCancel,
     [](Story& s) { s.enqueue(4).claim(4).cancel(4, kRunning).event(4, "task.released", kPending).run_to_end(4); }},
    {"NoEnqueuedEvent", Broken::kEventGap, [](Story& s) { drop_event(s, 1, "task.enqueued"); }},
    {"NoEventAtAll", Broken::kEventGap,
     [](Story& s) { std::erase_if(s.history.events, [](const LoggedEvent& e) { return e.task == id_of(1); }); }},
    {"NoClaimedEvent", Broken::kEventGap, [](Story& s) { drop_event(s, 1, "task.claimed"); }},
    {"NoCompletedEvent", Broken::kEventGap, [](Story& s) { drop_event(s, 1, "task.completed"); }},
    {"NoRetriedEvent", Broken::kEventGap, [](Story& s) { drop_event(s, 3, "task.retried"); }},
    {"EnqueuedTwice", Broken::kEventGap,
     [](Story& s) { s.history.events.push_back(*event_of(s.history, 1, "task.enqueued")); }},
    {"SequenceHasAHole", Broken::kEventGap, [](Story& s) { s.history.events.back().seq += 1; }},
    {"SequenceRunsBackwards", Broken::kEventGap, [](Story& s) { s.history.events.back().seq = 1; }},
    {"EventLeadsElsewhere", Broken::kEventGap,
     [](Story& s) { event_of(s.history, 1, "task.completed")->state = kFailed; }},
    {"RunNumberSkipped", Broken::kEventGap,
     [](Story& s) {
       s.enqueue(4).final(4).run = 1;
       s.run_to_end(4);
     }},
    {"WrongGeneration", Broken::kEventGap, [](Story& s) { event_of(s.history, 3, "task.completed")->generation = 1; }},
    {"UnknownEvent", Broken::kEventGap, [](Story& s) { s.event(1, "task.vanished", kCompleted); }},
    {"EventAfterDeletion", Broken::kEventGap,
     [](Story& s) { s.event(1, "task.deleted", kCompleted).event(1, "task.deleted", kCompleted); }},
    {"StateDiffersFromEvents", Broken::kEventGap, [](Story& s) { s.final(1).state = kFailed; }},
    {"CompletedWithoutStop", Broken::kWitnessDisagrees,
     [](Story& s) {
       std::erase_if(s.history.sightings,
                     [](const Sighting& seen) { return seen.task == id_of(1) && seen.kind == Sighting::Kind::kStop; });
     }},
    {"CompletedWithoutStart", Broken::kWitnessDisagrees,
     [](Story& s) { std::erase_if(s.history.sightings, [](const Sighting& seen) { return seen.task == id_of(1); }); }},
    {"CompletedByAnEarlierRun", Broken::kWitnessDisagrees,
     [](Story& s) {
       std::erase_if(s.history.sightings, [](const Sighting& seen) { return seen.task == id_of(2) && seen.run == 2; });
     }},
    {"StopWithoutStart", Broken::kWitnessDisagrees,
     [](Story& s) { s.history.sightings.push_back({id_of(1), 7, Sighting::Kind::kStop, 9, at(9'000)}); }},
    {"ExecutedButNeverClaimed", Broken::kWitnessDisagrees,
     [](Story& s) { s.history.sightings.push_back({id_of(1), 2, Sighting::Kind::kStart, 9, at(9'000)}); }},
};

INSTANTIATE_TEST_SUITE_P(All, PlantedHistoryTest, testing::ValuesIn(kPlants),
                         [](const auto& plant) { return std::string(plant.param.name); });

TEST(HistoryCheckTest, HasAPlantForEveryKind) {
  std::set<Broken> planted;
  for (const Plant& plant : kPlants) planted.insert(plant.kind);
  EXPECT_EQ(planted.size(), static_cast<std::size_t>(kBrokenKinds));
}

TEST(HistoryCheckTest, NamesWhatIsBroken) {
  Story story = good_story();
  story.event(1, "task.completed", kCompleted);
  const std::string text = to_string(check(story.history).violations);
  EXPECT_NE(text.find("settled twice: task " + id_of(1).to_string()), std::string::npos) << text;
}

}  // namespace
}  // namespace drover::history
