// What a run of an agent says of itself, as the task keeps it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error_class.h"
#include "core/ledger.h"
#include "core/policy.h"
#include "core/task_record.h"
#include "core/usage.h"
#include "drover/task_queue.h"

namespace drover {

// {"preset", "session_id", "host", "workspace", "model", "resumed", "totals"}
[[nodiscard]] std::string agent_json(const AgentState& agent);
[[nodiscard]] Status read_json(std::string_view json, AgentState& out);
[[nodiscard]] Status read_json(std::string_view json, Said<AgentState>& out);
// What the task has of it; nothing if it has none that can be read.
[[nodiscard]] std::optional<AgentState> agent_of(const Task& task);
[[nodiscard]] Usage usage_of(const std::optional<JsonText>& json);
// What the usage of a task is booked under; the model and the class are for the caller to add.
[[nodiscard]] LedgerKey ledger_key(const Task& task, std::string day);

// How a run differs from the first one of its task.
struct NextRun {
  SessionUse session = SessionUse::kFresh;
  std::optional<std::string> model{};
  std::optional<Millis> timeout{};  // if it has grown

  bool operator==(const NextRun&) const = default;
};
// {"session": "fresh" or "resume", "model", "timeout_ms"}
[[nodiscard]] std::string next_run_json(const NextRun& next);
[[nodiscard]] Status read_json(std::string_view json, NextRun& out);
[[nodiscard]] NextRun next_run_of(const Task& task);

// {"answered", "throttle": {"class", "retry_after_ms"}}
[[nodiscard]] std::string provider_signal_json(const ProviderSignal& signal);
[[nodiscard]] Status read_json(std::string_view json, ProviderSignal& out);

// Whether the evidence says that the work has passed its check.
[[nodiscard]] bool has_passed(const std::optional<JsonText>& evidence);
// The files of its check that the run changed, as the evidence says.
[[nodiscard]] std::vector<std::string> changed_files(const std::optional<JsonText>& evidence);
// Why a run with that evidence does not complete a task of a type with that rule; nothing if it does.
[[nodiscard]] std::optional<std::string> why_unverified(VerifyRule rule, const std::optional<JsonText>& evidence);
// kInvalidArgument or kPayloadTooLarge: what a caller says is not to be kept.
[[nodiscard]] Status check_report(const RunReport& report);

// Keeps what a live run says. While it goes on, the largest of each number counts: reports may come late. The last one
// counts as it is. Answers with what is to be booked.
enum class IsLast : std::uint8_t { kNo, kYes };
[[nodiscard]] std::vector<LedgerEntry> take_report(TaskRecord& record, const RunReport& report, IsLast is_last,
                                                   const PriceTable& prices, Time now);

}  // namespace drover
