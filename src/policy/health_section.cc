#include "policy/health_section.h"

#include <array>

#include "base/try.h"
#include "policy/config_values.h"

namespace drover {
namespace {

constexpr Bounds kFactorBounds{1, 1'000'000};
constexpr Bounds kTasksBounds{1, 1'000'000'000};

constexpr Bounds kPercentBounds{1, 1'000};

using Counts = Threshold<int>;
using Times = Threshold<Millis>;

template <class T>
Status check_order(const Threshold<T>& threshold, const ConfigNode& node) {
  if (threshold.warning <= threshold.critical) return {};
  return node.error("warning must not be more than critical");
}

constexpr auto kFactorFields = std::to_array<ConfigField<Counts>>({
    {"warning", [](Counts& t, const ConfigNode& n) { return put(count_of(n, kFactorBounds), t.warning); }},
    {"critical", [](Counts& t, const ConfigNode& n) { return put(count_of(n, kFactorBounds), t.critical); }},
});
constexpr auto kTasksFields = std::to_array<ConfigField<Counts>>({
    {"warning", [](Counts& t, const ConfigNode& n) { return put(count_of(n, kTasksBounds), t.warning); }},
    {"critical", [](Counts& t, const ConfigNode& n) { return put(count_of(n, kTasksBounds), t.critical); }},
});
constexpr auto kPercentFields = std::to_array<ConfigField<Counts>>({
    {"warning", [](Counts& t, const ConfigNode& n) { return put(count_of(n, kPercentBounds), t.warning); }},
    {"critical", [](Counts& t, const ConfigNode& n) { return put(count_of(n, kPercentBounds), t.critical); }},
});
constexpr auto kTimesFields = std::to_array<ConfigField<Times>>({
    {"warning", [](Times& t, const ConfigNode& n) { return put(n.time_limit(), t.warning); }},
    {"critical", [](Times& t, const ConfigNode& n) { return put(n.time_limit(), t.critical); }},
});

template <class Fields, class T>
Status read_threshold(const Fields& fields, Threshold<T>& threshold, const ConfigNode& node) {
  TRY(read_fields(node, fields, threshold));
  return check_order(threshold, node);
}

constexpr auto kHealthFields = std::to_array<ConfigField<HealthPolicy>>({
    {"waiting", [](HealthPolicy& h, const ConfigNode& n) { return read_threshold(kFactorFields, h.waiting, n); }},
    {"lag", [](HealthPolicy& h, const ConfigNode& n) { return read_threshold(kTasksFields, h.lag, n); }},
    {"running_per_worker",
     [](HealthPolicy& h, const ConfigNode& n) { return read_threshold(kTasksFields, h.running_per_worker, n); }},
    {"no_progress",
     [](HealthPolicy& h, const ConfigNode& n) { return read_threshold(kTimesFields, h.no_progress, n); }},
    {"held", [](HealthPolicy& h, const ConfigNode& n) { return read_threshold(kTimesFields, h.held, n); }},
    {"budget", [](HealthPolicy& h, const ConfigNode& n) { return read_threshold(kPercentFields, h.budget, n); }},
    {"idle", [](HealthPolicy& h, const ConfigNode& n) { return read_threshold(kTimesFields, h.idle, n); }},
});

}  // namespace

Status read_health(HealthPolicy& health, const ConfigNode& node) {
  return read_fields(node, kHealthFields, health);
}

}  // namespace drover
