// A task's transcript: what its agents did, as lines of JSON in the log stream `transcript`. The log keeps pieces of
// text; this makes lines of them again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drover/task_queue.h"

namespace drover {

struct TranscriptLine {
  std::int64_t seq = 0;  // of the record that completed it
  int run = 0;
  Time at{};
  JsonText event;  // an object with a `kind`

  bool operator==(const TranscriptLine&) const = default;
};

// {"seq", "run", "at", "event"}
[[nodiscard]] std::string to_json(const TranscriptLine& line);

class TranscriptLines {
 public:
  // The lines that this record completes; one of another stream completes none. Where the cap left something out, what
  // is left of a line becomes an event of kind `raw`.
  [[nodiscard]] std::vector<TranscriptLine> feed(const LogRecord& record);
  // The last record after which no line was begun: where another reader may go on.
  [[nodiscard]] std::int64_t complete_until() const { return complete_until_; }

 private:
  std::string begun_;
  int run_ = 0;
  std::int64_t complete_until_ = 0;
};

}  // namespace drover
