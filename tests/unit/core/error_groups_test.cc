#include "core/error_groups.h"

#include "core/fingerprint.h"
#include "core/task_filter.h"
#include "core/task_json.h"
#include "records.h"

namespace drover {
namespace {

using namespace drover::testing;

Task dead_letter(const std::string& message, Time finished_at = kNow, const std::string& type = "eng") {
  Task task = record_in(TaskState::kFailed).task;
  task.type = type;
  task.error = TaskError{ErrorClass::kAgentError, message};
  task.finished_at = finished_at;
  return task;
}

TEST(ErrorGroups, GatherFailuresOfOneKind) {
  ErrorGroups groups;
  Task newest = dead_letter("line 3", kNow, "b");
  newest.id = task_id(5);
  newest.escalation = Escalation{.to = "ada"};
  groups.add(newest);
  groups.add(dead_letter("line 4", kNow - Millis{10}, "a"));
  groups.add(dead_letter("line 5", kNow + Millis{3}, "b"));
  groups.add(dead_letter("no such file"));
  const std::vector<ErrorGroup> found = std::move(groups).take();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0], (ErrorGroup{.fingerprint = fingerprint({ErrorClass::kAgentError, "line 3"}),
                                  .error_class = ErrorClass::kAgentError,
                                  .pattern = "line <n>",
                                  .count = 3,
                                  .escalated = 1,
                                  .types = {"a", "b"},
                                  .first_at = kNow - Millis{10},
                                  .last_at = kNow + Millis{3},
                                  .example = task_id(5)}));
  EXPECT_EQ(found[1].count, 1);
}

TEST(ErrorGroups, NameABoundedNumberOfTypes) {
  ErrorGroups groups;
  for (int i = 0; i < 100; ++i) groups.add(dead_letter("no", kNow, "type" + std::to_string(i)));
  EXPECT_EQ(std::move(groups).take().at(0).types.size(), kGroupTypesMax);
}

std::string word(int number) {
  std::string text;
  for (; number > 0; number /= 26) text += static_cast<char>('a' + number % 26);
  return "x" + text;
}

TEST(ErrorGroups, BeyondTheBoundAreOneGroupThatSaysSo) {
  ErrorGroups groups;
  for (int i = 0; i < static_cast<int>(kErrorGroupsMax) + 7; ++i) groups.add(dead_letter(word(i)));
  groups.add(dead_letter(word(0)));
  const std::vector<ErrorGroup> found = std::move(groups).take();
  ASSERT_EQ(found.size(), kErrorGroupsMax + 1);
  EXPECT_EQ(found.front().count, 2);
  EXPECT_EQ(found.back().count, 7);
  EXPECT_EQ(found.back().fingerprint, "");
  EXPECT_NE(found.back().pattern.find("other"), std::string::npos);
  EXPECT_NE(to_json(found.back()).find(R"("fingerprint":null,"class":null)"), std::string::npos);
}

TEST(ErrorGroups, HaveOneJsonShape) {
  ErrorGroups groups;
  groups.add(dead_letter("boom"));
  EXPECT_EQ(to_json(std::move(groups).take().at(0)),
            R"({"fingerprint":"199593831b5e","class":"agent_error","pattern":"boom","count":1,"escalated":0,)"
            R"("types":["eng"],"first_at":"2027-01-15T08:10:00.000Z","last_at":"2027-01-15T08:10:00.000Z",)"
            R"("example":"00000000-0000-0000-0000-000000000001"})");
}

TEST(TaskFilter, GoesByTheEnd) {
  const Task failed = dead_letter("line 3");
  Task waiting = record_in(TaskState::kPending).task;
  Task escalated = failed;
  escalated.escalation = Escalation{.to = "ada"};
  const TaskFilter by_type{.type = "eng"};
  EXPECT_FALSE(TaskSieve(by_type).is_needed());
  struct Case {
    TaskFilter filter;
    bool failed, waiting, escalated;
  };
  const Case cases[] = {
      {{.error_class = ErrorClass::kAgentError}, true, false, true},
      {{.error_class = ErrorClass::kTimeout}, false, false, false},
      {{.fingerprint = fingerprint({ErrorClass::kAgentError, "line 9"})}, true, false, true},
      {{.fingerprint = "000000000000"}, false, false, false},
      {{.finished_before = kNow + Millis{1}}, true, false, true},
      {{.finished_before = kNow}, false, false, false},
      {{.escalated = true}, false, false, true},
      {{.escalated = false}, true, true, false},
  };
  for (const Case& c : cases) {
    TaskSieve sieve(c.filter);
    EXPECT_TRUE(sieve.is_needed());
    EXPECT_EQ(sieve.takes(failed), c.failed);
    EXPECT_EQ(sieve.takes(waiting), c.waiting);
    EXPECT_EQ(sieve.takes(escalated), c.escalated);
  }
}

}  // namespace
}  // namespace drover
