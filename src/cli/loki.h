// The queue folder of loki-mode (.loki/queue/): its tasks into the store, and the store's tasks into its files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "drover/task_queue.h"

namespace drover::cli {

// The files of a folder, each a list of tasks or an object with such a list under "tasks".
struct LokiFolder {
  std::map<std::string, json::Value> files;  // by name without ".json"; only those that are there
};

// Its queue files, if it has any.
[[nodiscard]] Result<LokiFolder> read_loki(const std::filesystem::path& folder);
// Each file is replaced as a whole.
[[nodiscard]] Status write_loki(const std::filesystem::path& folder, const LokiFolder& loki);

// The request id that stands for a task of Loki's: the same each time.
[[nodiscard]] std::string loki_request_id(const std::string& id);

// The waiting and running tasks of the folder that `known` (by Loki's id) does not have, as one batch. What they depend
// on is another of them, one of `known`, or completed; anything else is kInvalidArgument.
[[nodiscard]] Result<std::vector<TaskSpec>> specs_from_loki(const LokiFolder& loki,
                                                            const std::map<std::string, TaskId>& known);
// The ids of all waiting and running tasks of the folder.
[[nodiscard]] Result<std::vector<std::string>> open_ids(const LokiFolder& loki);

// Puts tasks, oldest first, where they belong. Others in the files stay, and so does a file's shape.
void put_into_loki(LokiFolder& loki, const std::vector<Task>& tasks);

}  // namespace drover::cli
