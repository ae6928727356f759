// What operators decide on tasks that have ended.
#include "records.h"

namespace drover {
namespace {

using namespace drover::testing;
using enum TaskState;

TEST(RetryOrder, SaysWhoAndWhy) {
  const Step step = must(record_in(kFailed), trigger::Retry{.verdict = {.by = "ada@box", .why = "fixed"}});
  EXPECT_EQ(step.events.at(0).data, R"({"by":"ada@box","why":"fixed","edited":false,"run_at":null})");
  EXPECT_EQ(step.payload, Step::PayloadWrite::kKeep);
}

TEST(RetryOrder, ReplacesThePayload) {
  const Step step = must(record_in(kFailed), trigger::Retry{.payload = "[1]"});
  EXPECT_EQ(step.next.task.payload, "[1]");
  EXPECT_EQ(step.payload, Step::PayloadWrite::kReplace);
  EXPECT_EQ(step.events.at(0).data, R"({"by":"","why":"","edited":true,"run_at":null})");
}

TEST(RetryOrder, WaitsForATimeAhead) {
  const Step step = must(record_in(kFailed), trigger::Retry{.run_at = kNow + Millis{5}});
  EXPECT_EQ(step.next.task.state, kScheduled);
  EXPECT_EQ(step.next.task.run_at, kNow + Millis{5});
  EXPECT_EQ(step.events.at(0).data, R"({"by":"","why":"","edited":false,"run_at":"2027-01-15T08:10:00.005Z"})");
  EXPECT_EQ(must(record_in(kFailed), trigger::Retry{.run_at = kNow}).next.task.state, kPending);
  EXPECT_EQ(must(record_in(kFailed), trigger::Retry{.unmet_parents = 1, .run_at = kNow + Millis{5}}).next.task.state,
            kBlocked);
}

TEST(Escalate, PutsANameOnIt) {
  const TaskRecord record = record_in(kFailed);
  const Step step = must(record, trigger::Escalate{{.to = "ada", .verdict = {.by = "bob", .why = "look"}}});
  TaskRecord expected = record;
  expected.task.escalation = Escalation{.to = "ada", .by = "bob", .why = "look", .at = kNow};
  EXPECT_EQ(step.next, expected);
  EXPECT_EQ(step.fate, Step::Fate::kStays);
  EXPECT_EQ(step.events.at(0).data, R"({"to":"ada","by":"bob","why":"look"})");
}

TEST(Escalate, IsOverWithTheNextGeneration) {
  TaskRecord record = record_in(kFailed);
  record.task.escalation = Escalation{.to = "ada"};
  EXPECT_EQ(must(record, trigger::Retry{}).next.task.escalation, std::nullopt);
}

TEST(Delete, LetsTheTaskGo) {
  for (const TaskState state : {kCompleted, kFailed, kCancelled}) {
    const TaskRecord record = record_in(state);
    const Step step = must(record, trigger::Delete{{.by = "bob", .why = "noise"}});
    EXPECT_EQ(step.next, record);
    EXPECT_EQ(step.fate, Step::Fate::kGoes);
    EXPECT_EQ(step.events.at(0).data, R"({"by":"bob","why":"noise"})");
  }
}

TEST(Delete, WaitsUntilDependentsKnow) {
  TaskRecord record = record_in(kFailed);
  record.cascade_due = true;
  const Error error = refused(record, trigger::Delete{});
  EXPECT_EQ(error.code, ErrorCode::kWrongState);
  EXPECT_NE(error.message.find("dependents"), std::string::npos) << error.message;
}

}  // namespace
}  // namespace drover
