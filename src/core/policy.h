// The policy that every process of a fleet obeys: what the stored document says, with the defaults filled in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/error_class.h"
#include "drover/task.h"

namespace drover {

// What a type says of its tasks; what is unset comes from the defaults of Task.
struct TypePolicy {
  std::optional<std::string> queue;
  std::optional<int> priority;
  std::optional<int> max_attempts;
  std::optional<int> max_stalls;
  std::optional<int> max_defers;
  std::optional<RetryPolicy> retry;
  std::optional<Millis> timeout;
  std::optional<Millis> idle_timeout;
  std::optional<Millis> deadline;
  std::optional<OnParentFailure> on_parent_failure;
  std::optional<bool> at_most_once;
  ClassTable classes = default_class_table();

  bool operator==(const TypePolicy&) const = default;
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

  bool operator==(const Limits&) const = default;
};

struct Policy {
  std::map<std::string, TypePolicy, std::less<>> types;
  Limits limits;

  // The type's own policy, or the defaults.
  [[nodiscard]] const TypePolicy& type(std::string_view name) const;
  // The queue where tasks of this type wait unless they say otherwise: the type's, else the one of its name.
  [[nodiscard]] std::string queue_of(std::string_view type_name) const;

  bool operator==(const Policy&) const = default;
};

}  // namespace drover
