// The exec protocol: what a program's exit and output mean for its task. Pure.
//
// exit 0 success, 65 invalid, 77 not authorised, 75 deferred like a rate limit, anything else what its output says, or
// agent_error; a signal of its own is `killed`. Result: the last non-empty line of stdout if it is a JSON value, else
// all of stdout as a string.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "agents/output_trouble.h"
#include "worker/process_end.h"
#include "worker/run_plan.h"

namespace drover {

inline constexpr int kExitInvalid = 65;
inline constexpr int kExitDeferred = 75;
inline constexpr int kExitUnauthorised = 77;

// Keeps of a program's stdout what its result may need, and no more than about three times `bytes_max`.
class ResultCapture {
 public:
  explicit ResultCapture(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  void feed(std::string_view bytes);
  // kResultTooLarge when there is no result within the cap.
  [[nodiscard]] Result<JsonText> result() const;

 private:
  void end_line();

  std::size_t bytes_max_;
  std::size_t bytes_ = 0;  // of all of it
  std::string all_;        // empty once it is too much
  std::string line_;       // the line that is being read, as far as it fits
  bool line_is_cut_ = false;
  std::string last_line_;  // the last one with something on it
  bool last_line_is_cut_ = false;
};

// What it ran under and what it said.
struct ExecFacts {
  const Task& task;
  const ResultCapture& out;
  const LastLine& err;
  const agents::OutputTail& tail;
  std::span<const agents::OutputPattern> patterns;
};

[[nodiscard]] End exec_outcome(const ProcessEnd& end, const ExecFacts& facts, const agents::WallClock& clock);

// One step: the profile's argv, with the payload or the prompt as its input.
[[nodiscard]] std::unique_ptr<RunPlan> make_exec_plan(const RunSetting& setting);

}  // namespace drover
