// What budgets and sessions cost those who have none, and what midnight costs: counted in commands.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "core/session_record.h"
#include "engine/engine.h"
#include "store/redis/redis_store.h"
#include "support/locked_rng.h"
#include "support/must.h"
#include "support/redis_server.h"

namespace drover {
namespace {

using test::must;

class RedisBudgetCost : public testing::Test {
 protected:
  // Also those that functions run. `name`: only one.
  std::int64_t commands(std::string_view name = "") {
    const redis::Reply reply = server_.run(redis::Command("INFO", "commandstats"));
    const std::string text(must(reply.as_text()));
    const std::string mark = name.empty() ? ":calls=" : fmt::format("cmdstat_{}:calls=", name);
    std::int64_t sum = 0;
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1))
      sum += std::stoll(text.substr(at + mark.size()));
    return sum;
  }

  void set_gates(std::vector<GateRecord> records) {
    constexpr std::size_t kAtOnce = 500;
    for (std::size_t from = 0; from < records.size(); from += kAtOnce) {
      StepGroup group;
      for (std::size_t i = from; i < std::min(from + kAtOnce, records.size()); ++i) {
        const std::vector<std::string> name{records[i].name};
        const std::int64_t revision = is_new_ ? 0 : must(store_->read_gates(name)).front().record.revision;
        group.gates.push_back({.name = name.front(), .expected_revision = revision, .next = records[i], .events = {}});
      }
      EXPECT_EQ(must(store_->apply(std::span(&group, 1))).front(), Applied::kDone);
    }
  }
  static GateRecord with_budget(std::string gate, std::string period = "all") {
    return {.name = std::move(gate),
            .budgets = {
                {.budget = {.unit = BudgetUnit::kTokens, .limit = kBudgetMax}, .period = {.id = std::move(period)}}}};
  }
  // Of other owners than the one whose tasks are claimed.
  void add_budgets_and_sessions(int count) {
    std::vector<GateRecord> records;
    for (int i = 0; i < count; ++i) {
      const int number = ++others_;
      records.push_back(with_budget(fmt::format("owner:other{}", number)));
      records.push_back({.name = fmt::format("session:other{}::s", number), .session = session_record_json({})});
    }
    is_new_ = true;
    set_gates(std::move(records));
    is_new_ = false;
  }

  double commands_per_claim() {
    constexpr int kClaims = 32;
    const auto claim = [&] {
      EXPECT_EQ(must(engine_.claim({.worker_id = "w:1:x", .serves = {{.queue = "work", .type = {}}}, .n = 1})).size(),
                1U);
    };
    claim();
    const std::int64_t before = commands();
    for (int i = 0; i < kClaims; ++i) claim();
    return static_cast<double>(commands() - before - 1) / kClaims;  // one is INFO
  }
  double commands_per_budgeted_claim() {
    set_gates({with_budget("owner:ann")});
    const double count = commands_per_claim();
    set_gates({{.name = "owner:ann"}});
    return count;
  }

  test::RedisServer server_;
  std::unique_ptr<Store> store_ = must(open_redis({.address = server_.address()}));
  test::LockedRng rng_{1};
  Engine engine_{*store_, rng_};
  int others_ = 0;
  bool is_new_ = false;
};

// Every eighth claim takes the lane that waited longest, so counts of claims differ a little.
constexpr double kNoise = 1;

TEST_F(RedisBudgetCost, OthersCostNothing) {
  must(engine_.enqueue(std::vector<TaskSpec>(500, {.type = "work", .owner = "ann"})));
  const double without = commands_per_claim();
  add_budgets_and_sessions(100);
  EXPECT_NEAR(commands_per_claim(), without, kNoise);
  set_gates({{.name = "type:work", .per_run = {0, 100, 0, 0}}});
  const double budgeted = commands_per_budgeted_claim();
  add_budgets_and_sessions(9'900);
  EXPECT_NEAR(commands_per_budgeted_claim(), budgeted, kNoise);
  set_gates({{.name = "type:work"}});
  EXPECT_NEAR(commands_per_claim(), without, kNoise);
  std::cout << without << " commands for a claim, " << budgeted << " for one under a budget\n";
}

// All gates go on to the next day in one step.
TEST_F(RedisBudgetCost, AtMidnightWhatIsSpentIsListedOnce) {
  constexpr int kGates = 300;
  std::vector<GateRecord> today;
  std::vector<GateRecord> tomorrow;
  for (int i = 0; i < kGates; ++i) {
    const std::string gate = fmt::format("owner:o{}", i);
    today.push_back(with_budget(gate, "2026-11-18@UTC"));
    tomorrow.push_back(with_budget(gate, "2026-11-19@UTC"));
    server_.run(redis::Command("HSET", "{ade}:spent", gate + "|tokens|2026-11-18@UTC", "7"));
  }
  set_gates(today);
  ASSERT_EQ(must(store_->spend()).size(), std::size_t{kGates});
  const std::int64_t before = commands("hkeys");
  set_gates(tomorrow);
  EXPECT_EQ(commands("hkeys") - before, 1);
  EXPECT_TRUE(must(store_->spend()).empty()) << "the day is over";
}

}  // namespace
}  // namespace drover
