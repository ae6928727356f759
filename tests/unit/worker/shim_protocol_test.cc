#include "worker/shim_protocol.h"

#include <gtest/gtest.h>

namespace drover::test {
namespace {

std::string without_newline(std::string line) {
  EXPECT_EQ(line.back(), '\n');
  line.pop_back();
  return line;
}

TEST(ShimProtocol, OrdersSurviveTheWire) {
  for (const ShimOrder& order :
       {ShimOrder(LeaseUntil{{Millis{123'456'789'012}}}), ShimOrder(StopWithin{Millis{0}}),
        ShimOrder(StopWithin{Millis{10'000}}), ShimOrder(InterruptAgent{}), ShimOrder(OutputClosed{})}) {
    EXPECT_EQ(parse_order(without_newline(format_order(order))), order);
  }
}

TEST(ShimProtocol, ReportsSurviveTheWire) {
  for (const ShimReport& report :
       {ShimReport(AgentStarted{4711}), ShimReport(SpawnFailed{2}), ShimReport(AgentExited{0, EndedBy::kItself}),
        ShimReport(AgentExited{65, EndedBy::kStop}), ShimReport(AgentKilled{9, EndedBy::kFence})}) {
    EXPECT_EQ(parse_report(without_newline(format_report(report))), report);
  }
}

TEST(ShimProtocol, NonsenseIsNothing) {
  for (const std::string_view line :
       {"", "lease", "lease x", "stop 1x", "stop ", "dance 3", "lease 99999999999999999999"}) {
    EXPECT_FALSE(parse_order(line).has_value()) << line;
  }
  for (const std::string_view line :
       {"", "started", "exited 0", "exited 0 nobody", "killed x stop", "vanished 1 stop"}) {
    EXPECT_FALSE(parse_report(line).has_value()) << line;
  }
}

TEST(LineReader, CutsLinesWhereverReadsEnd) {
  LineReader reader;
  EXPECT_TRUE(reader.feed("sto").empty());
  EXPECT_EQ(reader.feed("p 1\nlease 2\nou"), (std::vector<std::string>{"stop 1", "lease 2"}));
  EXPECT_EQ(reader.feed("t\n"), std::vector<std::string>{"out"});
}

}  // namespace
}  // namespace drover::test
