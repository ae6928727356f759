#include "core/event_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "support/must.h"

namespace drover::test {
namespace {

TEST(EventNames, AreThoseOnThePage) {
  std::ifstream page(DROVER_DOCS "/reference/events.md");
  std::set<std::string> documented;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `")) continue;
    documented.insert(line.substr(3, line.find('`', 3) - 3));
  }
  const std::set<std::string> known(event_names().begin(), event_names().end());
  EXPECT_EQ(known, documented);
}

TEST(EventNames, TasksMayBeLeftOut) {
  EXPECT_EQ(must(parse_event_name("failed")), "task.failed");
  EXPECT_EQ(must(parse_event_name("task.failed")), "task.failed");
  EXPECT_EQ(must(parse_event_name("bulk.started")), "bulk.started");
  for (const std::string_view bad : {"", "nonsense", "started", "task.", "Failed"}) {
    EXPECT_EQ(test::code_of(parse_event_name(bad)), ErrorCode::kInvalidArgument) << bad;
  }
}

TEST(EventFilter, AllOfItMustFit) {
  const Event event{.name = "task.failed", .task = TaskId(), .type = "t", .queue = "q", .owner = "o"};
  EXPECT_TRUE(EventFilter{}.admits(event));
  EXPECT_FALSE(EventFilter{}.narrows());
  EXPECT_TRUE(
      (EventFilter{.type = "t", .queue = "q", .owner = "o", .names = {"task.due", "task.failed"}}.admits(event)));
  EXPECT_FALSE(EventFilter{.type = "x"}.admits(event));
  EXPECT_FALSE(EventFilter{.queue = "x"}.admits(event));
  EXPECT_FALSE(EventFilter{.owner = "x"}.admits(event));
  EXPECT_FALSE(EventFilter{.names = {"task.due"}}.admits(event));
}

}  // namespace
}  // namespace drover::test
