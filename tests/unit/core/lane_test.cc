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
