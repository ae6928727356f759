#include "worker/runners/exec.h"

#include <gtest/gtest.h>

#include <csignal>

#include "base/json.h"
#include "support/must.h"
#include "support/printers.h"

namespace drover::test {
namespace {

using End = decltype(Settlement::end);

std::string describe(const End& end) {
  if (const auto* completion = std::get_if<Completion>(&end)) return "completed " + completion->result.value_or("-");
  if (const auto* failure = std::get_if<Failure>(&end)) {
    return "failed " + std::string(name_of(failure->error_class)) + ": " + failure->message;
  }
  return std::holds_alternative<Release>(end) ? "released" : "cancelled";
}

std::optional<int> exit_code_of(const End& end) {
  if (const auto* completion = std::get_if<Completion>(&end)) return completion->exit_code;
  if (const auto* failure = std::get_if<Failure>(&end)) return failure->exit_code;
  if (const auto* cancelled = std::get_if<CancelConfirmed>(&end)) return cancelled->exit_code;
  return std::nullopt;
}

struct Row {
  std::string name;
  ProcessEnd end;
  std::string out;
  std::string err;
  bool at_most_once;
  std::string expected;
  std::optional<int> exit_code;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> table{
      {"success", {Exited{0}, {}}, "{\"a\": 1}\n", "", false, "completed {\"a\":1}", 0},
      {"success_with_noise_on_stderr", {Exited{0}, {}}, "1", "warning\n", false, "completed 1", 0},
      {"invalid", {Exited{65}, {}}, "", "bad input\n", false, "failed invalid: exit code 65: bad input", 65},
      {"unauthorised", {Exited{77}, {}}, "", "", false, "failed auth: exit code 77", 77},
      {"deferred", {Exited{75}, {}}, "", "", false, "failed rate_limited: exit code 75", 75},
      {"exit_1",
       {Exited{1}, {}},
       "{\"ignored\":1}",
       "a\nlast words\n\n",
       false,
       "failed agent_error: exit code 1: last words",
       1},
      {"exit_255", {Exited{255}, {}}, "", "", false, "failed agent_error: exit code 255", 255},
      {"own_signal", {KilledBySignal{SIGSEGV}, {}}, "", "", false, "failed killed: killed by SIGSEGV", {}},
      {"own_kill", {KilledBySignal{SIGKILL}, {}}, "", "", true, "failed killed: killed by SIGKILL", {}},
      {"strange_signal", {KilledBySignal{50}, {}}, "", "", false, "failed killed: killed by signal 50", {}},
      {"not_started", {NotStarted{}, {}}, "", "", false, "released", {}},
      {"not_started_at_most_once", {NotStarted{}, {}}, "", "", true, "released", {}},
      {"shim_killed",
       {SupervisorLost{}, {}},
       "",
       "",
       false,
       "failed killed: the process that supervises it was killed",
       {}},
      {"cancel_by_signal", {KilledBySignal{SIGTERM}, StopCause::kCancelled}, "", "", false, "cancelled", {}},
      {"cancel_with_exit", {Exited{3}, StopCause::kCancelled}, "", "", false, "cancelled", 3},
      {"cancel_shim_gone", {SupervisorLost{}, StopCause::kCancelled}, "", "", false, "cancelled", {}},
      {"timeout",
       {KilledBySignal{SIGKILL}, StopCause::kTimeout},
       "",
       "",
       false,
       "failed timeout: ran longer than 2m",
       {}},
      {"timeout_with_exit_0",
       {Exited{0}, StopCause::kTimeout},
       "1",
       "",
       false,
       "failed timeout: ran longer than 2m",
       0},
      {"idle",
       {KilledBySignal{SIGTERM}, StopCause::kIdleTimeout},
       "",
       "",
       false,
       "failed timeout: no output and no progress for 3s",
       {}},
      {"shutdown", {KilledBySignal{SIGTERM}, StopCause::kShutdown}, "", "", false, "released", {}},
      {"shutdown_with_exit_0", {Exited{0}, StopCause::kShutdown}, "1", "", false, "released", {}},
      {"lease_lost", {KilledBySignal{SIGKILL}, StopCause::kLeaseLost}, "", "", false, "released", {}},
      {"shutdown_at_most_once",
       {Exited{143}, StopCause::kShutdown},
       "",
       "",
       true,
       "failed lost: it was stopped because its worker shut down, and it may run at most once",
       143},
      {"lease_lost_at_most_once",
       {KilledBySignal{SIGKILL}, StopCause::kLeaseLost},
       "",
       "",
       true,
       "failed lost: it was stopped because its lease could not be renewed, and it may run at most once",
       {}},
      {"shutdown_before_start_at_most_once", {NotStarted{}, StopCause::kShutdown}, "", "", true, "released", {}},
  };
  return table;
}

class ExecOutcome : public testing::TestWithParam<Row> {};

TEST_P(ExecOutcome, IsAsTheTableSays) {
  const Row& row = GetParam();
  Task task;
  task.timeout = Millis{120'000};
  task.idle_timeout = Millis{3'000};
  task.at_most_once = row.at_most_once;
  ResultCapture out(1000);
  out.feed(row.out);
  LastLine err;
  err.feed(row.err);
  const End end = exec_outcome(row.end, {task, out, err, agents::OutputTail(), {}}, {});
  EXPECT_EQ(describe(end), row.expected);
  EXPECT_EQ(exit_code_of(end), row.exit_code);
}

INSTANTIATE_TEST_SUITE_P(Table, ExecOutcome, testing::ValuesIn(rows()), [](const auto& row) { return row.param.name; });

// What its output says of a failure, beside its exit code.
TEST(ExecOutcomeOfOutput, IsAsTheOutputSaysUnlessTheExitCodeDoes) {
  const std::vector<agents::OutputPattern> patterns{
      {"engine is (?:cold|warm), (?P<seconds>\\d+)s", ErrorClass::kOverloaded}, {"bad card", ErrorClass::kBilling}};
  struct OutputRow {
    int exit_code;
    std::string out;
    std::string err;
    std::string expected;
    std::optional<Millis> retry_after;
  };
  const std::string limit = "openai.RateLimitError: Error code: 429 - try again in 4s";
  const std::vector<OutputRow> table{
      {1, "", limit, "failed rate_limited: exit code 1: " + limit, Millis(4'000)},
      {1, limit + "\n", "goodbye\n", "failed rate_limited: exit code 1: " + limit, Millis(4'000)},
      {75, "", limit, "failed rate_limited: exit code 75: " + limit, Millis(4'000)},
      {65, "", limit, "failed invalid: exit code 65: " + limit, {}},
      {77, "", limit, "failed auth: exit code 77: " + limit, {}},
      {75, "", "HTTP 401: Bad credentials", "failed rate_limited: exit code 75: HTTP 401: Bad credentials", {}},
      {1, "the engine is cold, 90s\n", limit, "failed overloaded: exit code 1: the engine is cold, 90s",
       Millis(90'000)},
      {1, "the engine is cold, 0s\n", "", "failed overloaded: exit code 1: the engine is cold, 0s", {}},
      {1, "the engine is cold, 999999999s\n", "", "failed overloaded: exit code 1: the engine is cold, 999999999s", {}},
      {65, "", "bad card", "failed billing: exit code 65: bad card", {}},
      {1, "", "429\n", "failed agent_error: exit code 1: 429", {}},
      {0, limit, limit, "completed " + json::quote(limit), {}},
  };
  for (const OutputRow& row : table) {
    ResultCapture out(1'000);
    out.feed(row.out);
    LastLine err;
    err.feed(row.err);
    agents::OutputTail tail;
    tail.feed(LogStream::kOut, row.out);
    tail.feed(LogStream::kErr, row.err);
    const End end = exec_outcome({Exited{row.exit_code}, {}}, {Task(), out, err, tail, patterns}, {});
    EXPECT_EQ(describe(end), row.expected);
    const auto* failure = std::get_if<Failure>(&end);
    EXPECT_EQ(failure != nullptr ? failure->retry_after : std::nullopt, row.retry_after) << row.expected;
  }
}

struct ResultRow {
  std::string out;
  std::string expected;  // empty: too large
};

// The cap is 20 bytes.
const std::vector<ResultRow> kResults{
    {"", "\"\""},
    {"\n", "\"\\n\""},
    {"plain", "\"plain\""},
    {"plain\n", "\"plain\\n\""},
    {"42", "42"},
    {"log\n42\n", "42"},
    {"log\n42\n\n  \n", "42"},
    {"42\r\n", "42"},
    {"null\n", "null"},
    {"\"s\"\n", "\"s\""},
    {"{\"a\" : 0.10}\n", "{\"a\":0.10}"},
    {"1e400\n", "1e400"},
    {"{bad}\n", "\"{bad}\\n\""},
    {"[1]\ntext\n", "\"[1]\\ntext\\n\""},
    {"a\xFF"
     "b",
     "\"a\xEF\xBF\xBD"
     "b\""},
    {std::string("a\0b", 3), "\"a\\u0000b\""},
    {std::string(500, 'x') + "\n[1, 2]", "[1,2]"},
    {"[1]\n" + std::string(500, 'x'), ""},
    {std::string(500, 'x'), ""},
    {std::string(18, 'x'), "\"" + std::string(18, 'x') + "\""},
    {std::string(19, 'x'), ""},
    {std::string(10, '\n'), ""},
    {"[" + std::string(50, ' ') + "1]\n", ""},
};

TEST(ResultCapture, TakesTheLastLineOfJsonElseEverything) {
  for (const ResultRow& row : kResults) {
    // Fed whole and byte by byte: where reads happen to be cut must not matter.
    for (const std::size_t step : {row.out.size() + 1, std::size_t{1}}) {
      ResultCapture capture(20);
      for (std::size_t at = 0; at < row.out.size(); at += step)
        capture.feed(std::string_view(row.out).substr(at, step));
      const auto result = capture.result();
      if (row.expected.empty()) {
        EXPECT_EQ(code_of(result), ErrorCode::kResultTooLarge) << row.out;
      } else {
        ASSERT_TRUE(result) << row.out;
        EXPECT_EQ(*result, row.expected);
      }
    }
  }
}

TEST(LastLine, KeepsTheLastWordsWithinBounds) {
  LastLine line;
  EXPECT_EQ(line.text(), "");
  line.feed("first\nsec");
  EXPECT_EQ(line.text(), "sec");
  line.feed("ond\n \n");
  EXPECT_EQ(line.text(), "second");
  line.feed(std::string(5'000'000, 'x'));
  EXPECT_EQ(line.text().size(), 1'000U);
  line.feed("\nbad \xFF\n");
  EXPECT_EQ(line.text(), "bad \xEF\xBF\xBD");
}

}  // namespace
}  // namespace drover::test
