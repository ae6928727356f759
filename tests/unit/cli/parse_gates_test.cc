// The command line of limits: dedupe, locks and costs of a task; gate, queue and explain.
#include <gtest/gtest.h>

#include "cli/parse.h"
#include "support/must.h"
#include "support/printers.h"

namespace drover::cli {
namespace {

using Args = std::vector<std::string>;
using MaybeText = std::optional<std::string>;
using test::must;

Invocation accepted(const Args& arguments) {
  auto invocation = parse_command_line(arguments);
  if (!invocation) throw std::runtime_error(invocation.error().message);
  return *std::move(invocation);
}

std::string refusal(const Args& arguments) {
  const auto invocation = parse_command_line(arguments);
  return invocation ? "was accepted" : invocation.error().message;
}

TEST(ParseGates, EnqueueTakesDedupeLocksAndCost) {
  const Invocation enqueue = accepted({"enqueue", "t", "--dedupe-key", "k", "--dedupe", "drop", "--dedupe-window",
                                       "10m", "--lock", "a", "--lock", "b", "--cost", "7"});
  EXPECT_EQ(enqueue.value<MaybeText>("--dedupe-key"), "k");
  EXPECT_EQ(enqueue.value<std::optional<DedupeMode>>("--dedupe"), DedupeMode::kDrop);
  EXPECT_EQ(enqueue.value<std::optional<Millis>>("--dedupe-window"), Millis{600'000});
  EXPECT_EQ(enqueue.value<std::vector<std::string>>("--lock"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(enqueue.value<std::optional<std::int64_t>>("--cost"), 7);
}

TEST(ParseGates, EnqueueRefusesWhatMakesNoSense) {
  EXPECT_EQ(refusal({"enqueue", "t", "--dedupe-window", "10m"}),
            "--dedupe-window: only --dedupe drop uses a window; add it, or leave this out");
  EXPECT_NE(refusal({"enqueue", "t", "--dedupe", "merg"}).find("merge"), std::string::npos);
  EXPECT_NE(refusal({"enqueue", "t", "--cost", "0"}).find("--cost"), std::string::npos);
  EXPECT_NE(refusal({"enqueue", "t", "--lock", "a b"}).find("--lock"), std::string::npos);
}

TEST(ParseGates, Gate) {
  EXPECT_EQ(accepted({"gate", "list", "--json"}).value<Format>("--json"), Format::kJson);
  const Invocation open = accepted({"gate", "open", "all"});
  EXPECT_EQ(open.command, "gate open");
  EXPECT_EQ(open.value<std::string>("GATE"), "all");
  const Invocation close = accepted({"gate", "close", "type:t", "--for", "5m", "--reason", "r", "--json"});
  EXPECT_EQ(close.command, "gate close");
  EXPECT_EQ(close.value<std::string>("GATE"), "type:t");
  EXPECT_EQ(close.value<std::optional<Millis>>("--for"), Millis{300'000});
  EXPECT_EQ(close.value<std::optional<Time>>("--until"), std::nullopt);
  EXPECT_EQ(close.value<std::string>("--reason"), "r");
  EXPECT_EQ(close.value<Format>("--json"), Format::kJson);
  EXPECT_EQ(accepted({"gate", "close", "all", "--until", "2026-11-15T19:50:37Z"}).value<std::optional<Time>>("--until"),
            must(parse_time("2026-11-15T19:50:37Z")));
  const Invocation limit = accepted({"gate", "limit", "lock:k", "3"});
  EXPECT_EQ(limit.command, "gate limit");
  EXPECT_EQ(limit.value<std::string>("GATE"), "lock:k");
  EXPECT_EQ(limit.value<std::optional<int>>("PERMITS"), 3);
  EXPECT_EQ(accepted({"gate", "limit", "lock:k", "none"}).value<std::optional<int>>("PERMITS"), std::nullopt);
}

TEST(ParseGates, GateRefusesWhatMakesNoSense) {
  EXPECT_NE(refusal({"gate", "open"}).find("GATE is missing"), std::string::npos);
  EXPECT_NE(refusal({"gate", "open", "que:eng"}).find("a gate is all, queue:NAME"), std::string::npos);
  EXPECT_EQ(refusal({"gate", "close", "all", "--for", "5m", "--until", "2026-11-15T19:50:37Z"}),
            "--for and --until: give one of them");
  EXPECT_NE(refusal({"gate", "limit", "all"}).find("PERMITS is missing"), std::string::npos);
  EXPECT_NE(refusal({"gate", "limit", "all", "-1"}).find("or none"), std::string::npos);
  EXPECT_NE(refusal({"gate", "clos", "all"}).find("did you mean close?"), std::string::npos);
  EXPECT_NE(refusal({"gate"}).find("name a command: list, open, close, limit"), std::string::npos);
}

TEST(ParseGates, Queue) {
  EXPECT_EQ(accepted({"queue", "list"}).value<Format>("--json"), Format::kAuto);
  const Invocation pause = accepted({"queue", "pause", "eng", "--reason", "r"});
  EXPECT_EQ(pause.command, "queue pause");
  EXPECT_EQ(pause.value<std::string>("QUEUE"), "queue:eng");
  EXPECT_EQ(pause.value<std::string>("--reason"), "r");
  const Invocation resume = accepted({"queue", "resume", "eng"});
  EXPECT_EQ(resume.command, "queue resume");
  EXPECT_EQ(resume.value<std::string>("QUEUE"), "queue:eng");
  EXPECT_NE(refusal({"queue", "pause", "a b"}).find("QUEUE"), std::string::npos);
  EXPECT_EQ(refusal({"queue", "pause", "q", "--for", "5m", "--until", "2026-11-15T19:50:37Z"}),
            "--for and --until: give one of them");
}

TEST(ParseGates, Explain) {
  const std::string id = "01920f5e-7a3c-7def-8123-456789abcdef";
  EXPECT_EQ(accepted({"explain", id, "--json"}).value<TaskId>("ID"), TaskId::parse(id));
  EXPECT_NE(refusal({"explain", "x"}).find("is not a task id"), std::string::npos);
}

}  // namespace
}  // namespace drover::cli
