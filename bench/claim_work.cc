// What a claim makes the store do, counted, behind backlogs and lanes of very different size.
#include <fmt/format.h>

#include "bench_store.h"
#include "cases.h"

namespace drover::bench {
namespace {

constexpr int kClaims = 64;
constexpr int kWarmUps = 8;

// Larger than any backlog here.
constexpr std::string_view kRaisedLimits = R"({"limits":{"max_waiting":100000000,"max_waiting_per_owner":100000000}})";

// The store's own count of its work so far.
class WorkCount {
 public:
  WorkCount(Ground& ground, Backend backend, const sqlite::Meter& meter)
      : ground_(ground), backend_(backend), meter_(meter) {}

  [[nodiscard]] std::int64_t so_far() const {
    if (backend_ != Backend::kRedis) return meter_.vm_steps;
    std::int64_t calls = 0;
    for (const auto& [name, count] : usage_of(ground_.redis().link()).calls) calls += count;
    return calls;
  }
  [[nodiscard]] std::string unit() const { return backend_ == Backend::kRedis ? "commands" : "VM steps"; }

 private:
  Ground& ground_;
  Backend backend_;
  const sqlite::Meter& meter_;
};

void claim_one_by_one(Engine& engine, int count) {
  const ClaimRequest request = sample_claim(1);
  for (int i = 0; i < count; ++i) {
    if (must(engine.claim(request)).empty()) throw std::runtime_error("the queue is empty too early");
  }
}

// Of claims of one task each.
Figure work_of_claim(Ground& ground, Backend backend, std::string_view name, int tasks, int owners) {
  sqlite::Meter meter;
  Bench bench(ground, backend, &meter);
  must(bench.engine.apply_config(std::string(kRaisedLimits), 0));
  fill(bench.engine, tasks, owners);
  claim_one_by_one(bench.engine, kWarmUps);
  const WorkCount work(ground, backend, meter);
  const std::int64_t before = work.so_far();
  claim_one_by_one(bench.engine, kClaims);
  const double per_claim = static_cast<double>(work.so_far() - before) / kClaims;
  return {std::string(name), name_of(backend), std::string(kDrover), Amount{per_claim, work.unit()},
          fmt::format("{}: {} tasks in {} lanes", name_of(backend), tasks, owners)};
}

struct Load {
  std::string_view name;
  int Scale::* tasks;
  int lanes;  // 0: as many as tasks
};
constexpr Load kLoads[] = {{kClaimSmallBacklog, &Scale::small_backlog, 1},
                           {kClaimLargeBacklog, &Scale::large_backlog, 1},
                           {kClaimFewLanes, &Scale::few_lanes, 0},
                           {kClaimManyLanes, &Scale::many_lanes, 0}};

}  // namespace

std::vector<Case> claim_work_cases() {
  std::vector<Case> cases;
  for (const Backend backend : {Backend::kSqliteFull, Backend::kRedis}) {
    for (const Load& load : kLoads) {
      cases.push_back({fmt::format("{}, {}", load.name, name_of(backend)), [=](Ground& ground, const Scale& scale) {
                         const int tasks = scale.*load.tasks;
                         return std::vector<Figure>{
                             work_of_claim(ground, backend, load.name, tasks, load.lanes == 0 ? tasks : load.lanes)};
                       }});
    }
  }
  return cases;
}

}  // namespace drover::bench
