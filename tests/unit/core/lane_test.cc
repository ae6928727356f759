#include "core/lane.h"

#include "records.h"

namespace drover {
namespace {

using namespace drover::testing;

Task task_with(std::vector<std::string> gates, std::int64_t cost = 1) {
  Task task = new_record().task;
  task.gates = std::move(gates);
  task.cost = cost;
  return task;
}

TEST(Lane, NameHasAllThatTheSchedulerAsks) {
  EXPECT_EQ(lane_name(task_with({})), "q|5|o|eng|1|");
  EXPECT_EQ(lane_name(task_with({"provider:p", "lock:a", "lock:b"}, 7)), "q|5|o|eng|7|provider:p,lock:a,lock:b");
}

TEST(Lane, NameTellsWhatItsTasksHaveInCommon) {
  for (const Task& task : {task_with({}), task_with({"provider:p", "lock:a", "lock:b"}, 7)}) {
    const auto like = task_like(lane_name(task));
    ASSERT_TRUE(like);
    EXPECT_EQ(lane_name(*like), lane_name(task));
    EXPECT_EQ(gates_of(*like), gates_of(task));
  }
  for (const char* text : {"", "q|5|o|eng|1", "q|x|o|eng|1|", "q|5|o|eng||", "q|5x|o|eng|1|"}) {
    EXPECT_FALSE(task_like(text)) << text;
  }
}

TEST(Lane, GatesInTheOrderInWhichTheyAreAsked) {
  EXPECT_EQ(gates_of(task_with({})), (std::vector<std::string>{"all", "queue:q", "type:eng", "owner:o"}));
  EXPECT_EQ(gates_of(task_with({"provider:p", "lock:a"})),
            (std::vector<std::string>{"all", "queue:q", "type:eng", "owner:o", "provider:p", "lock:a"}));
}

TEST(Lane, LocksAreGatesByTheirName) {
  EXPECT_EQ(locks_of(task_with({})), std::vector<std::string>{});
  EXPECT_EQ(locks_of(task_with({"provider:p", "lock:a", "lock:b"})), (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace drover
