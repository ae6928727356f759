// The plan of a batch: parents first, otherwise the caller's order.
#include "engine/batch.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "support/must.h"
#include "support/printers.h"

namespace drover::test {
namespace {

Result<std::vector<BatchItem>> plan(const std::vector<TaskSpec>& specs) {
  SeededRng rng(1);
  std::vector<TaskId> ids;
  for (std::size_t i = 0; i < specs.size(); ++i) ids.push_back(new_task_id(rng, Time{}));
  return plan_batch(specs, ids);
}

std::vector<std::size_t> order_of(const std::vector<TaskSpec>& specs) {
  std::vector<std::size_t> order;
  for (const BatchItem& item : must(plan(specs))) order.push_back(item.index);
  return order;
}

TEST(BatchTest, KeepsTheOrderOfTheCaller) {
  EXPECT_EQ(order_of(std::vector<TaskSpec>(4, TaskSpec{.type = "t"})), (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST(BatchTest, PutsParentsFirst) {
  EXPECT_EQ(order_of({{.ref = "c", .type = "t", .depends_on = {"b"}},
                      {.ref = "b", .type = "t", .depends_on = {"a"}},
                      {.ref = "a", .type = "t"}}),
            (std::vector<std::size_t>{2, 1, 0}));
}

TEST(BatchTest, TellsInnerParentsFromOuter) {
  const TaskId outside = TaskId::parse("0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d").value();
  const auto items = must(plan({{.ref = "a", .type = "t"}, {.type = "t", .depends_on = {outside, "a", outside, "a"}}}));
  EXPECT_TRUE(items[0].inner.empty());
  EXPECT_TRUE(items[0].outer.empty());
  EXPECT_EQ(items[1].inner, std::vector<std::size_t>{0});
  EXPECT_EQ(items[1].outer, std::vector{outside});
}

TEST(BatchTest, NamesWhatIsWrong) {
  const auto message_of = [](const std::vector<TaskSpec>& specs) { return plan(specs).error().message; };
  EXPECT_NE(message_of({{.type = "t", .depends_on = {"nobody"}}}).find("nobody"), std::string::npos);
  EXPECT_NE(message_of({{.ref = "twin", .type = "t"}, {.ref = "twin", .type = "t"}}).find("twin"), std::string::npos);
  EXPECT_NE(message_of({{.ref = "loop", .type = "t", .depends_on = {"loop"}}}).find("loop"), std::string::npos);
}

TEST(BatchTest, ALongChainInReverseIsPlannedQuickly) {
  std::vector<TaskSpec> specs;
  for (int i = 10'000; i > 0; --i) {
    TaskSpec spec{.ref = std::to_string(i), .type = "t"};
    if (i > 1) spec.depends_on = {std::to_string(i - 1)};
    specs.push_back(std::move(spec));
  }
  EXPECT_EQ(must(plan(specs)).front().index, 9'999U);
}

}  // namespace
}  // namespace drover::test
