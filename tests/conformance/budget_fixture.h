// What cases about budgets share: three types, and short ways to spend.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "conformance/conformance.h"
#include "core/budget.h"
#include "core/ledger.h"

namespace drover::test {

inline constexpr std::string_view kBudgetTypes =
    R"("types":{"work":{"budget_per_run":{"usd":0.5,"tokens":100},"provider":"acme"},
                "big":{"queue":"work","budget_per_run":{"usd":1.5,"tokens":100}},
                "free":{"queue":"work","budget_per_run":{"usd":0,"tokens":0}}})";

class BudgetTest : public ConformanceTest {
 protected:
  void SetUp() override { apply(R"({"usd":2,"per":"day"})"); }

  void apply_document(const std::string& rest) { apply_config(fmt::format("{{{},{}}}", kBudgetTypes, rest)); }
  // The budget of every owner.
  void apply(const std::string& budget) {
    apply_document(fmt::format(R"("owners":{{"default":{{"budgets":[{}]}}}})", budget));
  }
  static Usage cost(MicroDollars amount) {
    return {.tokens = {.output = 1}, .turns = 1, .cost = amount, .basis = CostBasis::kReported};
  }
  std::optional<BudgetStop> spend(const Lease& lease, MicroDollars amount) {
    return must(queue().report(lease, {.usage = cost(amount)})).stop;
  }
  TaskState finish(const Lease& lease, MicroDollars amount) {
    return settle({.lease = lease, .end = Completion{}, .report = {.usage = cost(amount)}});
  }
  // As a worker ends a run that was told to stop.
  TaskState obey(const Lease& lease, const BudgetStop& stop, MicroDollars amount) {
    Failure failure{.error_class = ErrorClass::kBudgetExceeded, .message = stop.why};
    if (stop.on_breach != OnBreach::kFail) failure.waits_at = stop.gate;
    return settle({.lease = lease, .end = failure, .report = {.usage = cost(amount)}});
  }
  std::vector<BudgetStatus> budgets_of(const std::string& gate) {
    std::vector<BudgetStatus> found = must(queue().budgets());
    std::erase_if(found, [&](const BudgetStatus& one) { return one.gate != gate; });
    return found;
  }
  BudgetStatus budget(const std::string& gate = "owner:ann") {
    const auto found = budgets_of(gate);
    EXPECT_EQ(found.size(), 1U) << gate;
    return found.empty() ? BudgetStatus{} : found.front();
  }
  void enqueue_many(int n, const std::string& type = "work") {
    enqueue_all(std::vector<TaskSpec>(static_cast<std::size_t>(n), TaskSpec{.type = type, .owner = "ann"}));
  }
  int count_events(const std::string& name) {
    int count = 0;
    for (const Event& event : all_events()) count += event.name == name ? 1 : 0;
    return count;
  }
};

}  // namespace drover::test
