// Reads the parts of a history from what Drover and the witness wrote. Errors are kInvalidJson or kInvalidArgument and
// name the line.
#pragma once

#include <string_view>
#include <vector>

#include "drover/error.h"
#include "history/history.h"

namespace drover::history {

// What `drover list --json` prints.
[[nodiscard]] Result<std::vector<FinalTask>> read_tasks(std::string_view json_array);
// What `drover events --json` prints.
[[nodiscard]] Result<std::vector<LoggedEvent>> read_events(std::string_view ndjson);
// The witness file of agentsim: "TASK RUN start|stop PID MONO_MS" a line. A last line without its end is left out: the
// task was killed while it wrote.
[[nodiscard]] Result<std::vector<Sighting>> read_witness(std::string_view lines);

}  // namespace drover::history
