// A gate: a key that may hold tasks back, and why. See docs/internals/lanes-and-gates.md.
//
// Holds are kept one per source, so that a breaker that closes again never opens what an operator paused. What a store
// enforces is computed from them here, once: the latest closed_until and the smallest permits win.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/budget.h"
#include "drover/gate.h"
#include "drover/task.h"

namespace drover {

// What a type's failures in a row have come to; only on the gate `type:T`.
struct BreakerCount {
  int failures = 0;
  Time first_at{};  // of the first of them

  bool operator==(const BreakerCount&) const = default;
};

// What is remembered of a provider that refused; only on the gate `provider:P`.
struct ProviderRamp {
  Time cut_at{};    // the last time that the gate was closed for it
  Time opens_at{};  // until when
  int goal = 0;     // up to so many permits every answer doubles them; beyond, it adds one
  Millis pause{};   // for how long the last cut closed it whose length was not said

  bool operator==(const ProviderRamp&) const = default;
};

struct GateRecord {
  std::string name;
  std::int64_t revision = 0;  // 0: not stored; everything at its default
  std::vector<Hold> holds;    // by source, at most one each
  std::optional<Rate> rate;
  BreakerCount breaker;
  ProviderRamp ramp{};
  std::vector<GateBudget> budgets{};  // what is spent of them is beside the gate's use
  BudgetAmounts per_run{};            // only on the gate `type:T`: what is set aside for a run of it

  bool operator==(const GateRecord&) const = default;
};

// The numbers that a store enforces. Everything absent: the gate is open and nothing is counted.
struct GateLimits {
  std::optional<Time> closed_until;
  std::optional<int> permits;
  Time counted_from{};           // only runs that started then or later use a permit
  std::int64_t interval_us = 0;  // between two units of the rate; 0: no rate
  std::int64_t burst = 0;        // units at once
  std::vector<BudgetLimit> budgets{};
  BudgetAmounts per_run{};  // limits nothing by itself

  [[nodiscard]] bool limits_anything() const { return closed_until || permits || interval_us > 0 || !budgets.empty(); }
  bool operator==(const GateLimits&) const = default;
};

[[nodiscard]] GateLimits limits_of(const GateRecord& gate);
// Nothing to keep: as if it were not stored.
[[nodiscard]] bool is_default(const GateRecord& gate);

[[nodiscard]] const Hold* find_hold(const GateRecord& gate, HoldSource source);
// Replaces the source's hold, or takes it away.
void set_hold(GateRecord& gate, Hold hold);
void drop_hold(GateRecord& gate, HoldSource source);

// How much of a gate is used.
struct GateUse {
  std::int64_t in_use = 0;
  std::int64_t rate_at_us = 0;  // the time (microseconds since 1970) until which the rate's units are spent (GCRA)
  BudgetUse budgets{};
};

// Whether a lane whose tasks cost that much may start one now.
struct GateVerdict {
  std::int64_t room = 0;           // how many may start now; 0: refused
  std::optional<Time> look_again;  // when to ask again; absent: when a permit comes back or the gate is set
};
inline constexpr std::int64_t kRoomMax = 1'000'000;

// per_run: of the type of the lane's tasks.
[[nodiscard]] GateVerdict ask_gate(const GateLimits& limits, const GateUse& use, std::int64_t cost, Time now,
                                   const BudgetAmounts& per_run = {});
// After `count` tasks of that cost started.
[[nodiscard]] GateUse use_gate(const GateLimits& limits, GateUse use, std::int64_t cost, std::int64_t count, Time now,
                               const BudgetAmounts& per_run = {});

// As stored beside its numbers, and as `gate list --json` shows it.
[[nodiscard]] JsonText gate_to_json(const GateRecord& gate);
[[nodiscard]] Result<GateRecord> gate_from_json(std::string_view json);

}  // namespace drover
