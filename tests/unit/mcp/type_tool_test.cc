// Task types as tools of their own.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "mcp/queue_tools.h"
#include "store/sqlite/sqlite_store.h"
#include "support/locked_rng.h"
#include "support/must.h"

namespace drover::mcp {
namespace {

using test::code_of;
using test::must;
using Follow = TypeTool::Follow;

TEST(McpTypeTool, IsNamedAsAToolMayBe) {
  EXPECT_EQ(must(parse_type_tool("review")).follow, Follow::kOptional);
  EXPECT_EQ(must(parse_type_tool("a.b-c_1:never")).type, "a.b-c_1");
  EXPECT_EQ(must(parse_type_tool("review:required")).follow, Follow::kRequired);
  for (const std::string bad :
       {"", ":never", "a b", "a@b", "review:", "review:often", "get_task", "cancel_task:never"}) {
    EXPECT_EQ(code_of(parse_type_tool(bad)), ErrorCode::kInvalidArgument) << bad;
  }
  EXPECT_EQ(code_of(parse_type_tool(std::string(129, 'x'))), ErrorCode::kInvalidArgument);
}

class McpTypeTools : public ::testing::Test {
 protected:
  ToolAnswer call(QueueTools& tools, std::string_view name, Attempt attempt, bool knows_tasks = false) {
    return tools.call(
        {.name = name, .arguments = R"({"n":1.50})", .knows_tasks = knows_tasks, .attempt = attempt, .made = made_});
  }

  test::LockedRng rng_{1};
  std::unique_ptr<Store> store_ = must(open_sqlite(SqliteOptions{}));
  Engine engine_{*store_, rng_};
  std::string made_;
};

TEST_F(McpTypeTools, EnqueueOnceAndWaitForTheEnd) {
  QueueTools tools(engine_, {.types = {{.type = "review"}}}, {});
  const ToolAnswer first = call(tools, "review", Attempt::kMayWait);
  ASSERT_TRUE(std::holds_alternative<Waiting>(first));
  const TaskId id = std::get<Waiting>(first).tasks.front();
  EXPECT_EQ(must(engine_.get(id)).payload, R"({"n":1.50})");
  ASSERT_TRUE(std::holds_alternative<Waiting>(call(tools, "review", Attempt::kMayWait)));
  const auto claimed = must(engine_.claim({.worker_id = "w", .serves = {{.queue = "review"}}, .n = 10}));
  ASSERT_EQ(claimed.size(), 1U) << "asked again, it looks at what it stored";
  must(engine_.complete(claimed.front().lease, {.result = R"("fine")"}));
  const ToolAnswer last = call(tools, "review", Attempt::kMayWait);
  ASSERT_TRUE(std::holds_alternative<ToolResult>(last));
  EXPECT_NE(std::get<ToolResult>(last).json.find("fine"), std::string::npos);
  EXPECT_FALSE(std::get<ToolResult>(last).is_error);
}

TEST_F(McpTypeTools, GiveATaskToFollowToThoseWhoKnowHow) {
  QueueTools tools(engine_, {.types = {{.type = "a"}, {.type = "b", .follow = Follow::kNever}}}, {});
  EXPECT_TRUE(std::holds_alternative<TaskStored>(call(tools, "a", Attempt::kMayWait, true)));
  made_.clear();
  EXPECT_TRUE(std::holds_alternative<Waiting>(call(tools, "b", Attempt::kMayWait, true)));
}

TEST_F(McpTypeTools, AreForThoseOnlyWhoMayEnqueue) {
  const Allowed allowed{.types = {{.type = "review", .follow = Follow::kRequired}}};
  const auto names = [&](CallerRights rights) {
    std::vector<std::string> found;
    for (const Tool& tool : QueueTools(engine_, allowed, rights).tools()) found.emplace_back(tool.name);
    return found;
  };
  EXPECT_EQ(names({}).back(), "review");
  EXPECT_EQ(names({.produce = false}).back(), "list_questions");
  EXPECT_TRUE(QueueTools(engine_, allowed, {}).tools().back().needs_tasks);
}

}  // namespace
}  // namespace drover::mcp
