// The lines of a dump: everything that a store holds, in a form that no store keeps it in. docs/operate/backup.md.
//
// What only means something inside one store (revisions, leases) is left out. JSON texts stand as strings, so that they
// come back byte by byte; times are milliseconds since 1970.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/budget.h"
#include "core/ledger.h"
#include "core/task_record.h"
#include "drover/task_queue.h"

namespace drover {

// A task with its past.
struct DumpedTask {
  TaskRecord record;
  std::vector<RunSummary> runs;          // that ended, oldest first
  std::vector<LogRecord> log;            // in order
  std::map<int, std::int64_t> left_out;  // bytes of a run's output that its cap left out
};

// A version of the policy, as it was applied.
struct DumpedPolicy {
  ConfigVersion version;
  JsonText document;

  bool operator==(const DumpedPolicy&) const = default;
};

[[nodiscard]] JsonText to_dump(const DumpedTask& task);
[[nodiscard]] JsonText to_dump(const Event& event);
[[nodiscard]] JsonText to_dump(const LedgerEntry& entry);
[[nodiscard]] JsonText to_dump(const SpendEntry& entry);
[[nodiscard]] JsonText to_dump(const DumpedPolicy& policy);

// kInvalidArgument: a member is missing, unknown or not what it should be. kInvalidJson: the line is no JSON.
[[nodiscard]] Result<DumpedTask> task_from_dump(const JsonText& dumped);
[[nodiscard]] Result<Event> event_from_dump(const JsonText& dumped);
[[nodiscard]] Result<LedgerEntry> ledger_from_dump(const JsonText& dumped);
[[nodiscard]] Result<SpendEntry> spend_from_dump(const JsonText& dumped);
[[nodiscard]] Result<DumpedPolicy> policy_from_dump(const JsonText& dumped);

}  // namespace drover
