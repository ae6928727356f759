// The policy that every process of a fleet obeys: what the stored document says, with the defaults filled in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/breaker.h"
#include "core/budget.h"
#include "core/contract.h"
#include "core/error_class.h"
#include "core/health_policy.h"
#include "core/usage.h"
#include "drover/gate.h"
#include "drover/task.h"

namespace drover {

// What a run needs to complete.
enum class VerifyRule : std::uint8_t {
  kOptional,   // nothing more
  kRequired,   // evidence that its work has passed a check
  kUnchanged,  // the same, and that it did not change the files that the check's command names
};
[[nodiscard]] std::string_view name_of(VerifyRule rule);
[[nodiscard]] std::optional<VerifyRule> parse_verify_rule(std::string_view name);

// What a type says of its tasks; what is unset comes from the defaults of Task.
struct TypePolicy {
  std::optional<std::string> queue;
  std::optional<int> priority;
  std::optional<int> max_attempts;
  std::optional<int> max_stalls;
  std::optional<int> max_defers;
  std::optional<int> max_suspends;
  std::optional<RetryPolicy> retry;
  std::optional<Millis> timeout;
  std::optional<Millis> idle_timeout;
  std::optional<Millis> deadline;
  std::optional<OnParentFailure> on_parent_failure;
  std::optional<bool> at_most_once;
  std::optional<std::string> provider;
  BreakerPolicy breaker;
  ClassTable classes = default_class_table();
  Contract contract;
  std::vector<std::string> models{};  // of agents: the first is the one to begin with, see ClassRule::next_model
  VerifyRule verify = VerifyRule::kOptional;
  BudgetShares budget{};          // of each task: all its runs together
  BudgetShares budget_per_run{};  // what a claim sets aside for a run of it

  bool operator==(const TypePolicy&) const = default;
};

// What the document says of a gate.
struct GatePolicy {
  std::optional<int> permits;
  std::optional<Rate> rate;
  std::vector<Budget> budgets{};

  [[nodiscard]] bool limits_anything() const { return permits || rate || !budgets.empty(); }
  bool operator==(const GatePolicy&) const = default;
};

// Slots of each worker that only tasks of this priority and more urgent ones may use.
struct Reserve {
  int priority = 0;
  int slots = 1;

  bool operator==(const Reserve&) const = default;
};

struct QueuePolicy {
  GatePolicy gate;
  std::optional<std::int64_t> max_waiting;
  std::optional<Reserve> reserve;

  bool operator==(const QueuePolicy&) const = default;
};

struct OwnerPolicy {
  int weight = 1;
  GatePolicy gate;

  bool operator==(const OwnerPolicy&) const = default;
};

// What the document says of sessions of one name, whoever owns them.
struct SessionPolicy {
  std::string preflight{};        // what a session is told before its first task
  Millis idle{24LL * 3'600'000};  // unused for so long, it begins afresh

  bool operator==(const SessionPolicy&) const = default;
};

struct Limits {
  std::int64_t max_waiting = 1'000'000;
  std::int64_t max_waiting_per_owner = 100'000;
  std::int64_t payload_bytes = 1 << 20;
  std::int64_t result_bytes = 1 << 20;
  std::int64_t batch_tasks = 10'000;
  std::int64_t dependents = 1'000;
  std::int64_t children = 1'000;
  std::int64_t depth = 100;
  Millis retention{7LL * 24 * 3'600'000};
  std::int64_t retention_tasks = 1'000'000;
  std::int64_t retention_bytes = 4LL << 30;
  Millis event_retention{7LL * 24 * 3'600'000};
  std::int64_t event_retention_count = 1'000'000;
  Millis usage_retention{400LL * 24 * 3'600'000};

  bool operator==(const Limits&) const = default;
};

struct Policy {
  std::map<std::string, TypePolicy, std::less<>> types;
  std::map<std::string, QueuePolicy, std::less<>> queues;
  std::map<std::string, OwnerPolicy, std::less<>> owners;  // complete: what was unset came from other_owners
  OwnerPolicy other_owners;                                // `owners: {default: …}`
  std::map<std::string, GatePolicy, std::less<>> gates;    // all, type:T, provider:P, lock:K
  std::map<std::string, SessionPolicy, std::less<>> sessions;
  Limits limits;
  bool types_closed = false;  // only types of the document are taken
  HealthPolicy health;
  PriceTable prices;         // of models whose agents do not say what they cost
  bool has_budgets = false;  // a gate has one, or a type says what its runs may spend

  // The type's own policy, or the defaults.
  [[nodiscard]] const TypePolicy& type(std::string_view name) const;
  // The session's own policy, or the defaults.
  [[nodiscard]] const SessionPolicy& session(std::string_view name) const;
  // The queue where tasks of this type wait unless they say otherwise: the type's, else the one of its name.
  [[nodiscard]] std::string queue_of(std::string_view type_name) const;
  // What holds for a gate, by its name: what the document says; else what other owners obey, the one permit of a lock,
  // or nothing.
  [[nodiscard]] GatePolicy gate(std::string_view name) const;
  // Whether the document itself limits the gate, so that it is always stored.
  [[nodiscard]] bool names_gate(std::string_view name) const;
  // What is set aside for a run of the type; nothing where no gate has a budget.
  [[nodiscard]] BudgetAmounts per_run(std::string_view type_name) const;
  // The gates of the task that have a budget, in the order in which they are asked.
  [[nodiscard]] std::vector<std::string> budgeted_gates(const Task& task) const;

  bool operator==(const Policy&) const = default;
};

}  // namespace drover
