// The public types, read back from the JSON in which every surface writes them (core/task_json.h and its
// neighbours). Members that are not known are passed over: a newer peer may say more. json::Reader finds these by the
// type, so that each is here though only its neighbours read it.
#pragma once

#include <string_view>

#include "base/json_reader.h"
#include "core/administration.h"
#include "core/budget_json.h"
#include "drover/task_queue.h"
#include "wire/introduction.h"

namespace drover {

[[nodiscard]] Status read_json(std::string_view json, TaskState& out);
[[nodiscard]] Status read_json(std::string_view json, ErrorClass& out);
[[nodiscard]] Status read_json(std::string_view json, OnParentFailure& out);
[[nodiscard]] Status read_json(std::string_view json, DedupeMode& out);
[[nodiscard]] Status read_json(std::string_view json, RetryPolicy& out);
[[nodiscard]] Status read_json(std::string_view json, TaskError& out);
[[nodiscard]] Status read_json(std::string_view json, Escalation& out);
[[nodiscard]] Status read_json(std::string_view json, Progress& out);
[[nodiscard]] Status read_json(std::string_view json, Task& out);
[[nodiscard]] Status read_json(std::string_view json, RunSummary& out);
[[nodiscard]] Status read_json(std::string_view json, Event& out);
[[nodiscard]] Status read_json(std::string_view json, Enqueued& out);
[[nodiscard]] Status read_json(std::string_view json, Serve& out);
[[nodiscard]] Status read_json(std::string_view json, WorkerInfo& out);
[[nodiscard]] Status read_json(std::string_view json, ErrorGroup& out);
[[nodiscard]] Status read_json(std::string_view json, LogStream& out);
[[nodiscard]] Status read_json(std::string_view json, LogRecord& out);
[[nodiscard]] Status read_json(std::string_view json, LogChunk& out);
[[nodiscard]] Status read_json(std::string_view json, HoldSource& out);
[[nodiscard]] Status read_json(std::string_view json, Hold& out);
[[nodiscard]] Status read_json(std::string_view json, Explanation::Reason& out);
[[nodiscard]] Status read_json(std::string_view json, AlertKind& out);
[[nodiscard]] Status read_json(std::string_view json, Severity& out);
[[nodiscard]] Status read_json(std::string_view json, Rates& out);
[[nodiscard]] Status read_json(std::string_view json, Durations& out);
[[nodiscard]] Status read_json(std::string_view json, QueueStats& out);
[[nodiscard]] Status read_json(std::string_view json, WorkerTotals& out);
[[nodiscard]] Status read_json(std::string_view json, PermitTotals& out);
[[nodiscard]] Status read_json(std::string_view json, QuestionTotals& out);
[[nodiscard]] Status read_json(std::string_view json, GateStatus& out);
[[nodiscard]] Status read_json(std::string_view json, HeldTasks& out);
[[nodiscard]] Status read_json(std::string_view json, QueueStatus& out);
[[nodiscard]] Status read_json(std::string_view json, Explanation::Link& out);
[[nodiscard]] Status read_json(std::string_view json, Explanation& out);
[[nodiscard]] Status read_json(std::string_view json, StuckGroup& out);
[[nodiscard]] Status read_json(std::string_view json, StuckReport& out);
[[nodiscard]] Status read_json(std::string_view json, Alert& out);
[[nodiscard]] Status read_json(std::string_view json, Stats& out);
[[nodiscard]] Status read_json(std::string_view json, StatsBucket& out);
[[nodiscard]] Status read_json(std::string_view json, StatsHistory& out);
[[nodiscard]] Status read_json(std::string_view json, PastAlert& out);
[[nodiscard]] Status read_json(std::string_view json, SavedView& out);
[[nodiscard]] Status read_json(std::string_view json, CancelOutcome& out);
[[nodiscard]] Status read_json(std::string_view json, CancelEffect& out);
[[nodiscard]] Status read_json(std::string_view json, Backlog& out);
[[nodiscard]] Status read_json(std::string_view json, Finding& out);
[[nodiscard]] Status read_json(std::string_view json, Config& out);
[[nodiscard]] Status read_json(std::string_view json, ConfigVersion& out);
[[nodiscard]] Status read_json(std::string_view json, Lease& out);
[[nodiscard]] Status read_json(std::string_view json, LeaseState& out);
[[nodiscard]] Status read_json(std::string_view json, ClaimRequest& out);
[[nodiscard]] Status read_json(std::string_view json, ClaimedTask& out);
[[nodiscard]] Status read_json(std::string_view json, Beat& out);
[[nodiscard]] Status read_json(std::string_view json, Settlement& out);
[[nodiscard]] Status read_json(std::string_view json, UsageRow& out);
// What a run says of itself, among other members.
json::Reader& read_report(json::Reader& in, RunReport& out);
// How a run ended: the members that are left of an object when the lease has been read.
[[nodiscard]] Status read_members(json::Reader& in, Completion& out);
[[nodiscard]] Status read_members(json::Reader& in, Failure& out);
[[nodiscard]] Status read_members(json::Reader& in, Release& out);
[[nodiscard]] Status read_members(json::Reader& in, CancelConfirmed& out);
[[nodiscard]] Status read_members(json::Reader& in, Suspend& out);
[[nodiscard]] Status read_json(std::string_view json, EditOrder& out);
// The same change as an RFC 7396 patch of the task.
[[nodiscard]] Status read_merge_patch(std::string_view json, EditOrder& out);
[[nodiscard]] Status read_json(std::string_view json, RetryOrder& out);
[[nodiscard]] Status read_json(std::string_view json, Searched& out);
[[nodiscard]] Status read_json(std::string_view json, TaskPage& out);
[[nodiscard]] Status read_json(std::string_view json, TaskSummary& out);
[[nodiscard]] Status read_json(std::string_view json, SummaryPage& out);
[[nodiscard]] Status read_json(std::string_view json, TaskGraph::EdgeKind& out);
[[nodiscard]] Status read_json(std::string_view json, TaskGraph::Edge& out);
[[nodiscard]] Status read_json(std::string_view json, TaskGraph::Node& out);
[[nodiscard]] Status read_json(std::string_view json, TaskGraph& out);
[[nodiscard]] Status read_json(std::string_view json, LogPage& out);
[[nodiscard]] Status read_json(std::string_view json, Epoch& out);
[[nodiscard]] Status read_json(std::string_view json, Loss& out);
[[nodiscard]] Status read_json(std::string_view json, StoreState& out);
[[nodiscard]] Status read_json(std::string_view json, FleetLook& out);
[[nodiscard]] Status read_json(std::string_view json, DumpIds& out);
[[nodiscard]] Status read_json(std::string_view json, DumpCounts& out);
[[nodiscard]] Status read_json(std::string_view json, Introduction& out);

}  // namespace drover
