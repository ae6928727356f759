// Where a run keeps its things on this host: a 0700 folder with its full output and its door.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/store_clocks.h"
#include "drover/error.h"
#include "drover/ids.h"
#include "drover/time.h"

namespace drover {

class RunFiles {
 public:
  // STATE_DIR/runs/TASK.RUN, made with what is missing above it.
  [[nodiscard]] static Result<RunFiles> make(const std::string& state_dir, const TaskId& task, int run);

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::string output_path() const { return folder_ + "/output.log"; }
  // Short enough for a socket, wherever the state directory is. Nobody listens there yet.
  [[nodiscard]] const std::string& door_path() const { return door_path_; }
  // A 0600 file of that name with that text, for a process of the run to read. Its path.
  [[nodiscard]] Result<std::string> write(std::string_view name, std::string_view text) const;
  // Takes the folder away if there is one and nothing is left in it.
  void remove_if_empty() const;

 private:
  std::string folder_;
  std::string door_path_;
};

struct RunFilesLimits {
  Millis age_max{7LL * 24 * 3'600'000};
  std::int64_t bytes_max = 10LL << 30;
};

// Deletes the folders of runs that are over: those too old, then the oldest beyond the limit. Never one whose door is
// answered. What is too old is not for a clock to say that somebody has just set: core/believed_time.h, kept in the
// state directory.
void prune_run_files(const std::string& state_dir, const StoreClocks& clocks, const RunFilesLimits& limits);

}  // namespace drover
