// What agents use: kept with the run and the task, booked once in the ledger, whatever ends the run.
#include <fmt/format.h>

#include "conformance/conformance.h"
#include "core/ledger.h"
#include "core/run_report.h"

namespace drover::test {
namespace {

Usage used(std::int64_t output, std::optional<MicroDollars> cost = std::nullopt, const std::string& model = "opus") {
  Usage usage{.tokens = {.input = 10 * output, .output = output}, .turns = output / 100, .cost = cost};
  if (cost) usage.basis = CostBasis::kReported;
  usage.models[model] = {.tokens = usage.tokens, .cost = cost};
  return usage;
}

AgentState session(const std::string& id) {
  return {.preset = "claude", .session_id = id, .host = "here", .workspace = "/work", .model = "opus"};
}

class AgentUsage : public ConformanceTest {
 protected:
  RunReport report_of(std::int64_t output, std::optional<MicroDollars> cost = std::nullopt) {
    return {.agent = session("s1"), .usage = used(output, cost)};
  }
  // Of a run that went on with the session of the one before it.
  RunReport resumed(std::int64_t output) {
    RunReport report = report_of(output);
    report.agent->resumed = true;
    return report;
  }
  std::vector<UsageRow> rows(std::vector<UsageDimension> by) { return must(queue().usage({.by = std::move(by)})); }
  // The only row.
  UsageAmounts total(UsageDimension by = UsageDimension::kType) {
    const auto all = rows({by});
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? UsageAmounts{} : all.front().amounts;
  }
  RunSummary last_run(const TaskId& id) { return must(queue().runs(id)).front(); }
  TaskState end(const Lease& lease, decltype(Settlement::end) end, RunReport report) {
    const Settlement item{.lease = lease, .end = std::move(end), .report = std::move(report)};
    return must(queue().settle(std::span(&item, 1)).front()).state;
  }
};
ON_EVERY_STORE(AgentUsage);

TEST_P(AgentUsage, IsKeptWithTheRunAndTheTask) {
  const TaskId id = enqueue_work();
  const Lease lease = start(id);
  must(queue().report(lease, report_of(100, 2'000)));
  EXPECT_EQ(usage_of(get(id).usage), used(100, 2'000));
  EXPECT_EQ(agent_of(get(id)), session("s1"));
  EXPECT_EQ(usage_of(last_run(id).usage), used(100, 2'000)) << "of the run that runs";
  EXPECT_EQ(end(lease, Completion{}, report_of(300, 5'000)), TaskState::kCompleted);
  EXPECT_EQ(usage_of(get(id).usage), used(300, 5'000));
  EXPECT_EQ(usage_of(last_run(id).usage), used(300, 5'000));
  reopen();
  EXPECT_EQ(usage_of(get(id).usage), used(300, 5'000));
  const UsageAmounts booked = total();
  EXPECT_EQ(booked.tokens.output, 300);
  EXPECT_EQ(booked.reported_cost, 5'000);
  EXPECT_EQ(booked.runs, 1);
  EXPECT_EQ(booked.unpriced_tokens, 0);
  EXPECT_EQ(story(id), "enqueued claimed completed");
}

TEST_P(AgentUsage, ARepeatedReportIsBookedOnce) {
  const Lease lease = start_work();
  for (int i = 0; i < 3; ++i) must(queue().report(lease, report_of(100, 2'000)));
  EXPECT_EQ(total().tokens.output, 100);
  must(queue().report(lease, report_of(200, 3'000)));
  must(queue().report(lease, report_of(100, 2'000)));  // one that was on its way for long
  EXPECT_EQ(total().tokens.output, 200);
  EXPECT_EQ(total().reported_cost, 3'000);
}

// Reports may overtake each other, and an agent may count one thing earlier than another.
TEST_P(AgentUsage, OfEachNumberTheLargestReportCounts) {
  const TaskId id = enqueue_work();
  const Lease lease = start(id);
  const auto said = [&](TokenCounts tokens, std::int64_t turns) {
    return RunReport{.agent = session("s1"), .usage = Usage{.tokens = tokens, .turns = turns}};
  };
  must(queue().report(lease, said({.input = 100, .output = 5}, 2)));
  must(queue().report(lease, said({.input = 90, .output = 7}, 1)));
  EXPECT_EQ(usage_of(get(id).usage), (Usage{.tokens = {.input = 100, .output = 7}, .turns = 2}));
  EXPECT_EQ(total().tokens, (TokenCounts{.input = 100, .output = 7}));
  EXPECT_EQ(total().turns, 2);
  EXPECT_EQ(total().unpriced_tokens, 107);
}

// Killed before it could say its cost. What is known is shown, and how much is not.
TEST_P(AgentUsage, ACostLeavesOutTheRunsThatHaveNone) {
  const TaskId id = enqueue({.type = "work", .tags = {"a"}});
  lose([&] {
    const Lease lease = start(id);
    must(queue().report(lease, report_of(100)));
    return lease;
  }());
  EXPECT_EQ(usage_of(get(id).usage).cost, std::nullopt);
  end(start(id), Completion{}, report_of(300, 5'000));
  const Usage usage = usage_of(get(id).usage);
  EXPECT_EQ(usage.cost, 5'000);
  EXPECT_EQ(usage.basis, CostBasis::kReported);
  EXPECT_EQ(unpriced_tokens(usage), 1'100);
  for (const UsageDimension by : {UsageDimension::kType, UsageDimension::kModel, UsageDimension::kTag}) {
    EXPECT_EQ(total(by).reported_cost, 5'000) << name_of(by);
    EXPECT_EQ(total(by).unpriced_tokens, 1'100) << name_of(by);
  }
}

TEST_P(AgentUsage, ACostFromTheTableGivesWayToTheReportedOne) {
  apply_config(R"({"prices":{"opus":{"input":3,"output":15}}})");
  const TaskId id = enqueue_work();
  const Lease lease = start(id);
  must(queue().report(lease, report_of(1'000)));
  EXPECT_EQ(total().table_cost, 45'000);
  must(queue().report(lease, report_of(1'000, 40'000)));
  EXPECT_EQ(usage_of(get(id).usage), used(1'000, 40'000));
  EXPECT_EQ(total().table_cost, 0);
  EXPECT_EQ(total().reported_cost, 40'000);
}

// The end is the agent's last word, and may correct what it said before.
TEST_P(AgentUsage, TheEndCorrectsWhatWasSaidBefore) {
  const TaskId id = enqueue_work();
  const Lease lease = start(id);
  must(queue().report(lease, report_of(200, 3'000)));
  end(lease, Completion{}, {.agent = session("s1"), .usage = used(150, 1'500, "opus-4")});
  EXPECT_EQ(usage_of(get(id).usage), used(150, 1'500, "opus-4"));
  EXPECT_EQ(total().tokens.output, 150);
  const auto models = rows({UsageDimension::kModel});
  ASSERT_EQ(models.size(), 1U);
  EXPECT_EQ(models.front().names.at(UsageDimension::kModel), "opus-4");
}

TEST_P(AgentUsage, RunsAddUpHoweverTheyEnd) {
  const TaskId id = enqueue({.type = "work", .max_attempts = 5, .retry = must(parse_retry_policy("fixed:1s"))});
  lose([&] {
    const Lease lease = start(id);
    must(queue().report(lease, report_of(100, 1'000)));
    return lease;
  }());
  end(start(id), Release{}, report_of(200, 2'000));
  end(start(id), Failure{.error_class = ErrorClass::kRateLimited, .message = "429", .retry_after = 1s},
      report_of(300, 3'000));
  pass(1s);
  end(start(id), Failure{.error_class = ErrorClass::kAgentError, .message = "no"}, report_of(400, 4'000));
  pass(1s);
  EXPECT_EQ(end(start(id), Completion{}, report_of(500, 5'000)), TaskState::kCompleted);
  Usage sum;
  for (const RunSummary& run : must(queue().runs(id))) sum = sum + usage_of(run.usage);
  EXPECT_EQ(usage_of(get(id).usage), sum);
  EXPECT_EQ(sum.tokens.output, 1'500);
  EXPECT_EQ(total().tokens.output, 1'500);
  EXPECT_EQ(total().reported_cost, 15'000);
  EXPECT_EQ(total().runs, 5);
  std::map<std::string, std::int64_t> ends;
  for (const UsageRow& row : rows({UsageDimension::kClass})) {
    ends[row.names.at(UsageDimension::kClass)] = row.amounts.runs;
  }
  EXPECT_EQ(ends, (std::map<std::string, std::int64_t>{
                      {"agent_error", 1}, {"completed", 1}, {"rate_limited", 1}, {"released", 1}, {"stalled", 1}}));
}

TEST_P(AgentUsage, ADeadRunSaysNothing) {
  const Lease lease = start_work();
  lose(lease);
  const World before = world();
  EXPECT_EQ(code_of(queue().report(lease, report_of(100))), ErrorCode::kStaleLease);
  EXPECT_EQ(world(), before);
  EXPECT_TRUE(rows({UsageDimension::kDay}).empty());
}

TEST_P(AgentUsage, BadReportsChangeNothing) {
  const Lease lease = start_work();
  const World before = world();
  AgentState nameless = session("s1");
  nameless.preset = "no name";
  EXPECT_EQ(code_of(queue().report(lease, {.agent = nameless})), ErrorCode::kInvalidArgument);
  for (const std::string& id : {std::string("-p"), std::string("a\nb"), std::string(5'000, 'x')}) {
    EXPECT_EQ(code_of(queue().report(lease, {.agent = session(id)})), ErrorCode::kInvalidArgument) << id;
  }
  for (const std::string& model : {std::string(), std::string("a\x01"), std::string("--help"), std::string(257, 'x')}) {
    EXPECT_EQ(code_of(queue().report(lease, {.usage = used(1, std::nullopt, model)})), ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(code_of(queue().report(lease, {.usage = Usage{.turns = 1'000'000'000'001}})), ErrorCode::kInvalidArgument);
  const Settlement too_long{
      .lease = lease, .end = Completion{}, .report = {.evidence = R"({"duration_ms":9000000000000000})"}};
  EXPECT_EQ(code_of(queue().settle(std::span(&too_long, 1)).front()), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().report(lease, {.evidence = "{}"})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().usage({})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().usage({.by = {UsageDimension::kClass, UsageDimension::kModel}})),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().usage({.by = {UsageDimension::kDay}, .from = "yesterday"})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().usage({.by = {UsageDimension::kDay}, .owner = "a/b"})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().usage({.by = {UsageDimension::kDay}, .type = std::string(1, '\0')})),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(world(), before);
}

TEST_P(AgentUsage, IsPricedByTheTableWhereTheAgentSaysNothing) {
  apply_config(R"({"prices":{"opus":{"input":3,"output":15}}})");
  const TaskId id = enqueue_work();
  end(start(id), Completion{}, report_of(1'000));
  const Usage usage = usage_of(get(id).usage);
  EXPECT_EQ(usage.cost, 10'000 * 3 + 1'000 * 15);
  EXPECT_EQ(usage.basis, CostBasis::kTable);
  EXPECT_EQ(total().table_cost, 45'000);
  end(start_work(), Completion{}, {.agent = session("s2"), .usage = used(7, std::nullopt, "other")});
  EXPECT_EQ(total().unpriced_tokens, 77);
}

TEST_P(AgentUsage, TheLedgerOutlivesItsTasks) {
  const TaskId id = enqueue_work();
  end(start(id), Completion{}, report_of(100, 1'000));
  must(queue().remove(id, {}));
  EXPECT_EQ(total().tokens.output, 100);
  EXPECT_TRUE(must(queue().usage({.by = {UsageDimension::kDay}, .to = "2001-01-01"})).empty());
  EXPECT_EQ(must(queue().usage({.by = {UsageDimension::kDay}, .to = "9999-12-31"})).size(), 1U);
  EXPECT_TRUE(must(queue().usage({.by = {UsageDimension::kDay}, .owner = "ann"})).empty());
}

TEST_P(AgentUsage, ByTagItIsOfTheTasksThatAreThere) {
  const TaskId id = enqueue({.type = "work", .tags = {"a", "b"}});
  end(start(id), Completion{}, report_of(100, 1'000));
  end(start_work(), Completion{}, report_of(10, 100));
  const auto by_tag = rows({UsageDimension::kTag});
  ASSERT_EQ(by_tag.size(), 2U);
  EXPECT_EQ(by_tag.front().names.at(UsageDimension::kTag), "a");
  EXPECT_EQ(by_tag.front().amounts.tokens.output, 100);
  EXPECT_EQ(by_tag.front().amounts.reported_cost, 1'000);
  must(queue().remove(id, {}));
  EXPECT_TRUE(rows({UsageDimension::kTag}).empty());
  EXPECT_EQ(code_of(queue().usage({.by = {UsageDimension::kTag, UsageDimension::kDay}})), ErrorCode::kInvalidArgument);
}

TEST_P(AgentUsage, TheClassSaysHowTheNextRunBegins) {
  apply_config(
      R"({"types":{"work":{"models":["opus","sonnet"],"retry":"fixed:1s",
          "errors":{"context_too_long":{"action":"retry","session":"fresh","model":"next"}}}}})");
  const TaskId id = enqueue_work();
  EXPECT_EQ(get(id).model, "opus") << "the first of the type's models";
  end(start(id), Failure{.error_class = ErrorClass::kAgentError, .message = "no"}, report_of(100));
  EXPECT_EQ(next_run_of(get(id)), (NextRun{.session = SessionUse::kResume}));
  pass(1s);
  end(start(id), Failure{.error_class = ErrorClass::kContextTooLong, .message = "long"}, resumed(100));
  EXPECT_EQ(next_run_of(get(id)), (NextRun{.session = SessionUse::kFresh, .model = "sonnet"}));
  EXPECT_EQ(last_run(id).change, R"({"session":"resume"})");
  pass(1s);
  lose([&] {
    const Lease lease = start(id);
    must(queue().report(lease, report_of(100)));
    return lease;
  }());
  EXPECT_EQ(next_run_of(get(id)), (NextRun{.session = SessionUse::kResume, .model = "sonnet"}));
  end(start(id), Completion{}, resumed(100));
  EXPECT_EQ(get(id).next, std::nullopt);
  EXPECT_EQ(last_run(id).change, R"({"session":"resume","model":"sonnet"})");
}

// On another machine, in a new folder, or because the agent does not know the session any more.
TEST_P(AgentUsage, ARunThatHadToBeginAfreshSaysSo) {
  apply_config(R"({"types":{"work":{"models":["opus","sonnet"],"retry":"fixed:1s",
      "errors":{"agent_error":{"action":"retry","session":"resume","model":"next"}}}}})");
  const TaskId id = enqueue_work();
  end(start(id), Failure{.message = "no"}, report_of(100));
  pass(1s);
  EXPECT_EQ(next_run_of(get(id)).session, SessionUse::kResume);
  end(start(id), Failure{.message = "no"}, report_of(100));
  EXPECT_EQ(last_run(id).change, R"({"session":"fresh","model":"sonnet"})");
  pass(1s);
  const Lease lease = start(id);
  must(queue().report(lease, report_of(100)));
  lose(lease);
  EXPECT_EQ(last_run(id).change, R"({"session":"fresh","model":"sonnet"})");
  release(start(id));
  EXPECT_EQ(last_run(id).change, R"({"session":"resume","model":"sonnet"})") << "nothing of it has begun";
}

// A run that was lost before it began does not undo what the one before it had led to.
TEST_P(AgentUsage, ARunThatSaysNothingLeavesThePlanAsItIs) {
  apply_config(R"({"types":{"work":{"retry":"fixed:1s","errors":{"context_too_long":{"action":"retry"}}}}})");
  const TaskId id = enqueue_work();
  end(start(id), Failure{.error_class = ErrorClass::kContextTooLong, .message = "long"}, report_of(100));
  pass(1s);
  release(start(id));
  EXPECT_EQ(next_run_of(get(id)).session, SessionUse::kFresh);
  lose(start(id));
  EXPECT_EQ(next_run_of(get(id)).session, SessionUse::kFresh);
}

TEST_P(AgentUsage, ATaskWithoutAnAgentHasNoNextRunToPlan) {
  const TaskId id = enqueue_work();
  end(start(id), Failure{.message = "no"}, {});
  EXPECT_EQ(get(id).next, std::nullopt);
  EXPECT_EQ(get(id).usage, std::nullopt);
  EXPECT_TRUE(rows({UsageDimension::kDay}).empty());
}

TEST_P(AgentUsage, WorkThatMustBeCheckedIsNotDoneWithoutEvidence) {
  apply_config(R"({"types":{"work":{"verify":"required"}}})");
  EXPECT_EQ(end(start_work(), Completion{}, {.evidence = R"({"exit_code":0,"tail":"ok"})"}), TaskState::kCompleted);
  for (const std::optional<JsonText>& evidence :
       {std::optional<JsonText>(), std::optional<JsonText>(R"({"exit_code":1})")}) {
    const TaskId id = enqueue_work();
    EXPECT_EQ(end(start(id), Completion{}, {.evidence = evidence}), TaskState::kFailed);
    EXPECT_EQ(class_of(get(id).error), ErrorClass::kVerifyFailed);
    EXPECT_EQ(last_run(id).evidence, evidence);
  }
}

TEST_P(AgentUsage, ARunThatChangedItsCheckIsNotDone) {
  apply_config(R"({"types":{"work":{"verify":"unchanged","retry":"fixed:1s"}}})");
  const auto passed = [](const std::string& changed) {
    return RunReport{.evidence = fmt::format(R"({{"exit_code":0,"commit":"c","changed":{}}})", changed)};
  };
  EXPECT_EQ(end(start_work(), Completion{}, passed("[]")), TaskState::kCompleted);
  EXPECT_EQ(end(start_work(), Completion{}, passed("null")), TaskState::kFailed) << "nobody knows";
  EXPECT_EQ(end(start_work(), Completion{}, {}), TaskState::kFailed);

  const TaskId id = enqueue({.type = "work", .max_attempts = 2});
  EXPECT_EQ(end(start(id), Completion{.result = "1"}, passed(R"(["dev","tests/a"])")), TaskState::kScheduled);
  EXPECT_EQ(class_of(get(id).error), ErrorClass::kVerifyFailed);
  EXPECT_TRUE(get(id).error->message.contains("dev, tests/a"));
  EXPECT_EQ(get(id).result, std::nullopt);
  EXPECT_EQ(last_run(id).outcome, "retrying");
  EXPECT_EQ(last_run(id).evidence, passed(R"(["dev","tests/a"])").evidence);
  pass(1s);
  EXPECT_EQ(end(start(id), Completion{}, passed(R"(["dev"])")), TaskState::kFailed) << "its attempts are used up";
  const TaskId once = enqueue({.type = "work", .at_most_once = true});
  EXPECT_EQ(end(start(once), Completion{}, passed(R"(["dev"])")), TaskState::kFailed);
}

}  // namespace
}  // namespace drover::test
