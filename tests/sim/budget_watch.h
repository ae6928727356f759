// Budgets, written a second time: from what agents say that they use, from the rows of tasks and from what is stored of
// each budget. Nothing is booked twice or forgotten, what is set aside is that of the runs that go on, and nothing
// starts, or goes on, that there is no room for.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/budget.h"
#include "core/usage.h"
#include "sim/life.h"
#include "sim/plan.h"
#include "store/store.h"

namespace drover::sim {

class BudgetWatch {
 public:
  // `slack`: how far the clock may move between a decision and its commit.
  BudgetWatch(const Plan& plan, Millis slack);

  // An agent is about to say that its run has used so much in all; the store has answered.
  void said(const TaskId& id, int run, const Usage& usage);
  void took(const TaskId& id, int run, const Usage& usage);
  // `task` as it was given.
  [[nodiscard]] std::optional<Wrong> take(const Event& event, const Task& task);
  // After the events of everything that has been committed since the last look.
  [[nodiscard]] std::optional<Wrong> look(Store& store);
  // Once nothing runs any more.
  [[nodiscard]] std::optional<Wrong> check_rest(Store& store);

 private:
  using RunKey = std::pair<TaskId, int>;

  struct Run {
    std::vector<std::string> gates{};
    std::string type{};
    std::optional<Spending> spending{};
    BudgetAmounts booked{};
    BudgetAmounts granted{};  // one budget_per_run at least
    [[nodiscard]] std::int64_t held(std::size_t unit) const {
      return std::max<std::int64_t>(0, granted[unit] - booked[unit]);
    }
    [[nodiscard]] std::int64_t overdraft(std::size_t unit) const {
      return std::max<std::int64_t>(0, booked[unit] - granted[unit]);
    }
  };
  // What agents know.
  struct Words {
    Usage most{};   // said, whether it arrived or not
    Usage least{};  // that arrived for certain
    int lost = 0;   // reports without an answer
  };
  // One budget of one gate, as it was when last looked at.
  struct Book {
    std::string period{};
    std::int64_t limit = 0;
    std::int64_t spent = 0;
    std::int64_t aside = 0;
    std::int64_t limit_max = 0;                       // in this period
    std::int64_t overdraft = 0;                       // booked in this period of runs beyond what they were granted
    std::map<std::string, std::int64_t> before = {};  // what was spent in others
  };
  // What has happened since the last look.
  struct Window {
    std::vector<RunKey> claimed{};
    std::vector<std::pair<RunKey, Run>> ended{};  // as they were before
    std::map<RunKey, Run> moved{};                // the same of those that go on, if anything changed
    Time claimed_at{};                            // the last
    bool is_whole = true;                         // false: something is gone that would have to be counted
  };

  [[nodiscard]] std::optional<Wrong> read_running(Store& store, std::map<RunKey, Run>& now);
  [[nodiscard]] std::optional<Wrong> read_ended(Store& store, const RunKey& key, Run& run, Window& window);
  [[nodiscard]] std::optional<Wrong> compare(const GateState& state, const std::vector<GateBudget>& budgets,
                                             const Window& window);
  [[nodiscard]] std::optional<Wrong> compare(const std::string& gate, std::size_t unit, const Book& before, Book& now,
                                             const Window& window);
  [[nodiscard]] std::optional<Wrong> check_claims(const std::string& gate, std::size_t unit, const Book& before,
                                                  const Book& now, const Window& window) const;
  [[nodiscard]] std::optional<Wrong> check_slice(const std::string& gate, std::size_t unit, const Book& now,
                                                 const Window& window) const;
  [[nodiscard]] std::optional<Wrong> check_run(const RunKey& key, const Run& run, const Usage& usage) const;
  [[nodiscard]] std::optional<Wrong> check_task_budget(const Event& event, const Task& task);
  [[nodiscard]] static bool passes(const Run& run, const std::string& gate);
  [[nodiscard]] std::int64_t per_run(const std::string& type, std::size_t unit) const;

  const Plan& plan_;
  const Millis slack_;
  const bool clock_jumps_;
  std::vector<std::string> gates_;  // with budgets, but owner:*
  std::map<RunKey, Run> live_;
  std::map<RunKey, Words> words_;
  std::map<TaskId, Task> given_;
  std::map<std::pair<std::string, std::size_t>, Book> books_;  // by gate and place
  Window window_;
  std::map<TaskId, BudgetAmounts> task_spent_;  // by the runs of a task that ended, in this generation
  std::set<TaskId> ends_by_settlement_;         // tasks whose last run ended so that a budget must have been looked at
};

}  // namespace drover::sim
