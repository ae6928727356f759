// Many callers at once: whatever the order, the outcome is one that some order explains.
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>

#include "conformance/conformance.h"
#include "support/together.h"

namespace drover::test {
namespace {

constexpr int kCallers = 4;

CONFORMANCE_SUITE(Races);

TEST_P(Races, ManyClaimersNeverGetTheSameTask) {
  constexpr std::size_t kTasks = 200;
  enqueue_all(std::vector<TaskSpec>(kTasks, TaskSpec{.type = "work"}));
  std::mutex mutex;
  std::vector<TaskId> got;
  together(kCallers, [&](int) {
    for (auto claimed = claim(3); !claimed.empty(); claimed = claim(3)) {
      const std::lock_guard lock(mutex);
      for (const ClaimedTask& item : claimed) got.push_back(item.task.id);
    }
  });
  EXPECT_EQ(got.size(), kTasks);
  EXPECT_EQ(std::set(got.begin(), got.end()).size(), kTasks);
}

TEST_P(Races, OneRequestSentByManyMakesOneTask) {
  const TaskSpec spec{.type = "work", .payload = "1", .request_id = "r"};
  std::mutex mutex;
  std::vector<Enqueued> answers;
  together(kCallers, [&](int) {
    const Enqueued answer = must(queue().enqueue_one(spec));
    const std::lock_guard lock(mutex);
    answers.push_back(answer);
  });
  EXPECT_EQ(all_tasks().size(), 1U);
  int first = 0;
  for (const Enqueued& answer : answers) {
    EXPECT_EQ(answer.id, answers[0].id);
    first += answer.deduplicated ? 0 : 1;
  }
  EXPECT_EQ(first, 1);
}

TEST_P(Races, OneLeaseIsSettledOnce) {
  for (int round = 0; round < 10; ++round) {
    const Lease lease = start_work();
    std::atomic<int> settled = 0;
    together(kCallers, [&](int caller) {
      const auto answer = queue().complete(lease, {.result = std::to_string(caller)});
      ASSERT_TRUE(answer) << to_string(answer.error());
      if (!answer->replayed) ++settled;
    });
    EXPECT_EQ(settled, 1);
    EXPECT_EQ(story(lease.task), "enqueued claimed completed");
  }
}

TEST_P(Races, ParentsThatEndTogetherReleaseTheirChildOnce) {
  std::vector<ParentRef> parents;
  for (const TaskId& id : enqueue_all(std::vector<TaskSpec>(20, TaskSpec{.type = "work"}))) parents.emplace_back(id);
  const TaskId child = enqueue({.type = "work", .depends_on = parents});
  const auto claimed = claim(20);
  together(kCallers, [&](int caller) {
    for (std::size_t i = static_cast<std::size_t>(caller); i < claimed.size(); i += kCallers)
      complete(claimed[i].lease);
  });
  EXPECT_EQ(state(child), TaskState::kPending);
  EXPECT_EQ(story(child), "enqueued unblocked");
}

TEST_P(Races, AChildJoinsAParentThatIsEnding) {
  for (int round = 0; round < 10; ++round) {
    const Lease parent = start_work();
    together(2, [&](int caller) {
      if (caller == 0) {
        complete(parent);
      } else {
        enqueue({.type = "child", .depends_on = {parent.task}});
      }
    });
  }
  for (const Task& child : all_tasks({.type = "child"})) EXPECT_EQ(child.state, TaskState::kPending);
}

TEST_P(Races, WhatIsCancelledFirstNeverStarts) {
  const auto ids = enqueue_all(std::vector<TaskSpec>(50, TaskSpec{.type = "work"}));
  together(2, [&](int caller) {
    if (caller == 0) {
      while (!claim(1).empty()) {
      }
    } else {
      for (auto it = ids.rbegin(); it != ids.rend(); ++it) cancel(*it);
    }
  });
  for (const TaskId& id : ids) {
    const std::string told = story(id);
    EXPECT_TRUE(told == "enqueued cancelled" || told == "enqueued claimed cancel_requested") << told;
  }
}

TEST_P(Races, SweepersInEveryProcessDoTheWorkOnce) {
  const auto ids = enqueue_all(std::vector<TaskSpec>(50, TaskSpec{.type = "work", .delay = 1s}));
  const Lease lease = start_new({.type = "work", .max_stalls = 0});
  advance(1h);
  together(kCallers, [&](int) { sweep(); });
  sweep();  // a sweeper leaves to the next one what others moved meanwhile
  for (const TaskId& id : ids) EXPECT_EQ(story(id), "enqueued due");
  EXPECT_EQ(story(lease.task), "enqueued claimed failed");
}

TEST_P(Races, RenewalAndReclaimNeverBothWin) {
  for (int round = 0; round < 10; ++round) {
    const Lease lease = start_work();
    advance(kLease);
    LeaseState renewed = LeaseState::kLost;
    together(2, [&](int caller) {
      if (caller == 0) {
        renewed = renew(lease);
      } else {
        sweep();
      }
    });
    EXPECT_EQ(state(lease.task), renewed == LeaseState::kHeld ? TaskState::kRunning : TaskState::kStalled);
    cancel(lease.task);
  }
}

TEST_P(Races, WhoWaitsForAChangeIsWoken) {
  using std::chrono::steady_clock;
  const std::uint64_t seen = queue().changes();
  const auto begin = steady_clock::now();
  together(2, [&](int caller) {
    if (caller == 0) {
      while (queue().changes() == seen) queue().wait_for_change(seen, 1min);
    } else {
      enqueue_work();
    }
  });
  EXPECT_LT(steady_clock::now() - begin, 30s);
}

}  // namespace
}  // namespace drover::test
