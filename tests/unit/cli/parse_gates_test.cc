// The command line of limits: dedupe, locks and costs of a task; gate, queue and explain.
#include <gtest/gtest.h>

#include "cli/parse.h"
#include "support/must.h"
#include "support/printers.h"

namespace drover::cli {
namespace {

using Args = std::vector<std::string>;
using What = GateSetOptions::What;
using test::must;

template <class Options>
Options parsed_as(const Args& arguments) {
  auto invocation = parse_command_line(arguments);
  if (!invocation) throw std::runtime_error(invocation.error().message);
  return std::get<Options>(invocation->command);
}

std::string refusal(const Args& arguments) {
  const auto invocation = parse_command_line(arguments);
  return invocation ? "was accepted" : invocation.error().message;
}

TEST(ParseGates, EnqueueTakesDedupeLocksAndCost) {
  const TaskSpec spec =
      parsed_as<EnqueueOptions>({"enqueue", "t", "--dedupe-key", "k", "--dedupe", "drop", "--dedupe-window", "10m",
                                 "--lock", "a", "--lock", "b", "--cost", "7"})
          .task.spec;
  EXPECT_EQ(spec.dedupe_key, "k");
  EXPECT_EQ(spec.dedupe, DedupeMode::kDrop);
  EXPECT_EQ(spec.dedupe_window, Millis{600'000});
  EXPECT_EQ(spec.locks, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(spec.cost, 7);
}

TEST(ParseGates, EnqueueRefusesWhatMakesNoSense) {
  EXPECT_EQ(refusal({"enqueue", "t", "--dedupe-window", "10m"}), "--dedupe-window: only --dedupe drop has a window");
  EXPECT_NE(refusal({"enqueue", "t", "--dedupe", "merg"}).find("merge"), std::string::npos);
  EXPECT_NE(refusal({"enqueue", "t", "--cost", "0"}).find("--cost"), std::string::npos);
  EXPECT_NE(refusal({"enqueue", "t", "--lock", "a b"}).find("--lock"), std::string::npos);
}

TEST(ParseGates, Gate) {
  EXPECT_EQ(parsed_as<GateListOptions>({"gate", "list", "--json"}).format, Format::kJson);
  EXPECT_EQ(parsed_as<GateSetOptions>({"gate", "open", "all"}), (GateSetOptions{.gate = "all", .what = What::kOpen}));
  EXPECT_EQ(parsed_as<GateSetOptions>({"gate", "close", "type:t", "--for", "5m", "--reason", "r", "--json"}),
            (GateSetOptions{.gate = "type:t",
                            .what = What::kClose,
                            .close_for = Millis{300'000},
                            .reason = "r",
                            .format = Format::kJson}));
  EXPECT_EQ(parsed_as<GateSetOptions>({"gate", "close", "all", "--until", "2026-11-15T19:50:37Z"}).close_until,
            must(parse_time("2026-11-15T19:50:37Z")));
  EXPECT_EQ(parsed_as<GateSetOptions>({"gate", "limit", "lock:k", "3"}),
            (GateSetOptions{.gate = "lock:k", .what = What::kLimit, .permits = 3}));
  EXPECT_EQ(parsed_as<GateSetOptions>({"gate", "limit", "lock:k", "none"}).permits, std::nullopt);
}

TEST(ParseGates, GateRefusesWhatMakesNoSense) {
  EXPECT_NE(refusal({"gate", "open"}).find("GATE is missing"), std::string::npos);
  EXPECT_NE(refusal({"gate", "open", "que:eng"}).find("gates are all, queue:NAME"), std::string::npos);
  EXPECT_EQ(refusal({"gate", "close", "all", "--for", "5m", "--until", "2026-11-15T19:50:37Z"}),
            "--for and --until: give one of them");
  EXPECT_NE(refusal({"gate", "limit", "all"}).find("PERMITS is missing"), std::string::npos);
  EXPECT_NE(refusal({"gate", "limit", "all", "-1"}).find("or none"), std::string::npos);
  EXPECT_NE(refusal({"gate", "clos", "all"}).find("did you mean close?"), std::string::npos);
  EXPECT_NE(refusal({"gate"}).find("say which command: list, open, close, limit"), std::string::npos);
}

TEST(ParseGates, Queue) {
  EXPECT_EQ(parsed_as<QueueListOptions>({"queue", "list"}).format, Format::kAuto);
  EXPECT_EQ(parsed_as<GateSetOptions>({"queue", "pause", "eng", "--reason", "r"}),
            (GateSetOptions{.gate = "queue:eng", .what = What::kClose, .reason = "r"}));
  EXPECT_EQ(parsed_as<GateSetOptions>({"queue", "resume", "eng"}),
            (GateSetOptions{.gate = "queue:eng", .what = What::kOpen}));
  EXPECT_NE(refusal({"queue", "pause", "a b"}).find("QUEUE"), std::string::npos);
  EXPECT_EQ(refusal({"queue", "pause", "q", "--for", "5m", "--until", "2026-11-15T19:50:37Z"}),
            "--for and --until: give one of them");
}

TEST(ParseGates, Explain) {
  const std::string id = "01920f5e-7a3c-7def-8123-456789abcdef";
  EXPECT_EQ(parsed_as<ExplainOptions>({"explain", id, "--json"}).id, TaskId::parse(id));
  EXPECT_NE(refusal({"explain", "x"}).find("is not a task id"), std::string::npos);
}

}  // namespace
}  // namespace drover::cli
