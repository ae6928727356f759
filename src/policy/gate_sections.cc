#include "policy/gate_sections.h"

#include <array>
#include <utility>
#include <vector>

#include "base/try.h"
#include "core/gate_name.h"
#include "core/lane.h"
#include "core/spec_check.h"
#include "policy/budget_fields.h"
#include "policy/config_values.h"

namespace drover {
namespace {

constexpr Bounds kWaitingBounds{1, 1'000'000'000};
constexpr Bounds kSlotsBounds{1, 1'024};
constexpr Bounds kWeightBounds{1, kWeightMax};
constexpr std::string_view kOtherOwners = "default";

// What is written of a gate, before what is unset is filled in.
struct GateReading {
  std::optional<int> permits;
  std::optional<Rate> rate;
  std::optional<std::int64_t> burst;
  std::optional<std::vector<Budget>> budgets{};
};

struct QueueReading : GateReading {
  QueuePolicy policy;
};

struct OwnerReading : GateReading {
  std::optional<int> weight;
};

// The three fields that every section has.
template <class T>
constexpr std::array<ConfigField<T>, 3> kGateFields{{
    {"permits", [](T& g, const ConfigNode& n) { return put(count_of(n, kPermitsBounds), g.permits); }},
    {"rate", [](T& g, const ConfigNode& n) { return put(parsed(n, parse_rate), g.rate); }},
    {"burst", [](T& g, const ConfigNode& n) { return put(n.whole_number(kBurstBounds), g.burst); }},
}};

template <class T, std::size_t N>
constexpr std::array<ConfigField<T>, N + 3> with_gate_fields(const std::array<ConfigField<T>, N>& own) {
  std::array<ConfigField<T>, N + 3> all{};
  std::ranges::copy(kGateFields<T>, all.begin());
  std::ranges::copy(own, all.begin() + 3);
  return all;
}

template <class T>
constexpr ConfigField<T> kBudgetsField{"budgets",
                                       [](T& g, const ConfigNode& n) { return put(budgets_of(n), g.budgets); }};

// What holds, with `others` where nothing is said.
Result<GatePolicy> resolve(const ConfigNode& node, const GateReading& own, const GateReading& others = {}) {
  GatePolicy gate{.permits = own.permits ? own.permits : others.permits,
                  .rate = own.rate ? own.rate : others.rate,
                  .budgets = (own.budgets ? own.budgets : others.budgets).value_or(std::vector<Budget>())};
  const auto burst = own.burst ? own.burst : others.burst;
  if (burst && !gate.rate) return node.error("burst is set, but no rate");
  if (!gate.rate) return gate;
  gate.rate->burst = burst.value_or(1);
  if (const auto status = check_rate(*gate.rate); !status) return node.error(status.error());
  return gate;
}

// ---- queues

constexpr auto kReserveFields = std::to_array<ConfigField<Reserve>>({
    {"priority", [](Reserve& r, const ConfigNode& n) { return put(priority_of(n), r.priority); }},
    {"slots", [](Reserve& r, const ConfigNode& n) { return put(count_of(n, kSlotsBounds), r.slots); }},
});

constexpr auto kQueueFields = with_gate_fields(std::to_array<ConfigField<QueueReading>>({
    {"max_waiting",
     [](QueueReading& q, const ConfigNode& n) { return put(n.whole_number(kWaitingBounds), q.policy.max_waiting); }},
    {"reserve",
     [](QueueReading& q, const ConfigNode& n) { return read_fields(n, kReserveFields, q.policy.reserve.emplace()); }},
}));

// ---- owners

constexpr auto kOwnerFields = with_gate_fields(std::to_array<ConfigField<OwnerReading>>({
    {"weight", [](OwnerReading& o, const ConfigNode& n) { return put(count_of(n, kWeightBounds), o.weight); }},
    kBudgetsField<OwnerReading>,
}));

struct NamedOwner {
  std::string name;
  ConfigNode node;
  OwnerReading reading;
};

Result<OwnerPolicy> owner_policy(const NamedOwner& owner, const OwnerReading& others) {
  auto gate = TRY(resolve(owner.node, owner.reading, others));
  const int weight = owner.reading.weight.value_or(others.weight.value_or(OwnerPolicy{}.weight));
  return OwnerPolicy{.weight = weight, .gate = std::move(gate)};
}

// ---- gates

constexpr auto kNamedGateFields =
    with_gate_fields(std::to_array<ConfigField<GateReading>>({kBudgetsField<GateReading>}));

Status check_section(const std::string& name, const ConfigNode& value) {
  const auto gate = parse_gate_name(name);
  if (!gate || info_of(gate->kind).section == "gates") return {};
  return value.error(fmt::format("belongs under {}, not under gates", info_of(gate->kind).section));
}

}  // namespace

Status read_queues(Policy& policy, const ConfigNode& node) {
  return node.members([&](const std::string& queue, const ConfigNode& value) -> Status {
    if (const auto status = check_name(queue); !status) return value.error(status.error());
    QueueReading reading;
    TRY(read_fields(value, kQueueFields, reading));
    QueuePolicy& target = policy.queues[queue] = std::move(reading.policy);
    return put(resolve(value, reading), target.gate);
  });
}

Status read_owners(Policy& policy, const ConfigNode& node) {
  std::vector<NamedOwner> owners;
  OwnerReading others;
  auto status = node.members([&](const std::string& owner, const ConfigNode& value) -> Status {
    if (const auto valid = check_name(owner); !valid) return value.error(valid.error());
    OwnerReading& reading = owners.emplace_back(owner, value, OwnerReading{}).reading;
    TRY(read_fields(value, kOwnerFields, reading));
    if (owner == kOtherOwners) others = reading;
    return {};
  });
  if (!status) return status;
  // Only now is it known what stands under default.
  for (const NamedOwner& owner : owners) {
    OwnerPolicy& target = owner.name == kOtherOwners ? policy.other_owners : policy.owners[owner.name];
    TRY(put(owner_policy(owner, others), target));
  }
  return {};
}

Status read_gates(Policy& policy, const ConfigNode& node) {
  return node.members([&](const std::string& name, const ConfigNode& value) -> Status {
    TRY(check_section(name, value));
    if (const auto known = check_gate_name(name); !known) return value.unknown_key(known.error().message);
    GateReading reading;
    TRY(read_fields(value, kNamedGateFields, reading));
    if (reading.budgets && subject_of(name, GateKind::kLock)) return value.error("a lock has no budgets");
    return put(resolve(value, reading), policy.gates[name]);
  });
}

}  // namespace drover
