// What travels between a client and a server beside the shapes of core/task_json.h and its neighbours.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/administration.h"
#include "core/alert.h"
#include "core/budget_json.h"
#include "core/gate_json.h"
#include "core/stats_json.h"
#include "core/task_json.h"
#include "drover/task_queue.h"
#include "wire/introduction.h"

namespace drover {

[[nodiscard]] std::string_view name_of(LeaseState state);

[[nodiscard]] std::string to_json(const CancelOutcome& outcome);
[[nodiscard]] std::string to_json(const Backlog& backlog);
[[nodiscard]] std::string to_json(const Finding& finding);
[[nodiscard]] std::string to_json(const Config& config);
[[nodiscard]] std::string to_json(const ConfigVersion& version);
[[nodiscard]] std::string to_json(const Serve& serve);
[[nodiscard]] std::string to_json(const Lease& lease);
[[nodiscard]] std::string to_json(const LogChunk& chunk);
[[nodiscard]] std::string to_json(const Progress& progress);
[[nodiscard]] std::string to_json(const ClaimRequest& request);
[[nodiscard]] std::string to_json(const ClaimedTask& claimed);
[[nodiscard]] std::string to_json(const Beat& beat);
[[nodiscard]] std::string to_json(const Settlement& settlement);
[[nodiscard]] std::string to_json(const LeaseId& lease, const RunReport& report);
// The names that it is under, the counts, and "cost_usd", "reported_cost_usd", "table_cost_usd".
[[nodiscard]] std::string to_json(const UsageRow& row);
[[nodiscard]] std::string to_json(const EditOrder& order);   // without the version, which is a header
[[nodiscard]] std::string to_json(const RetryOrder& order);  // without who, which is the token's to say
[[nodiscard]] std::string to_json(const Searched& searched);
[[nodiscard]] std::string to_json(const SavedView& view);
[[nodiscard]] std::string to_json(const TaskPage& page);
[[nodiscard]] std::string to_json(const LogPage& page);
[[nodiscard]] std::string to_json(const NewToken& order);
[[nodiscard]] std::string to_json(const Epoch& epoch);
[[nodiscard]] std::string to_json(const Loss& loss);
[[nodiscard]] std::string to_json(const StoreState& state);
[[nodiscard]] std::string to_json(const FleetLook& look);
[[nodiscard]] std::string to_json(const DumpIds& page);
[[nodiscard]] std::string to_json(const DumpCounts& counts);
[[nodiscard]] std::string to_json(const Introduction& introduction);

// {"NAME": [each item's JSON]}
template <class Items>
[[nodiscard]] std::string list_json(std::string_view name, const Items& items) {
  std::string json = "{\"" + std::string(name) + "\":[";
  bool first = true;
  for (const auto& item : items) {
    if (!first) json += ',';
    first = false;
    json += to_json(item);
  }
  return json + "]}";
}

}  // namespace drover
