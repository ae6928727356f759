// What one tiny task tells about an agent: step by step, from its program to its answer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agents/runner_profile.h"
#include "cli/environment.h"
#include "core/transcript.h"
#include "core/usage.h"

namespace drover::cli {

enum class TrialMark : std::uint8_t { kOk, kDoubt, kFailed };
[[nodiscard]] std::string_view name_of(TrialMark mark);  // "ok", "doubt", "failed"

struct TrialStep {
  std::string name;
  TrialMark mark = TrialMark::kOk;
  std::string detail;

  bool operator==(const TrialStep&) const = default;
};

class RunnerTrial {
 public:
  // Tells each step once it is known. The profile has a preset and outlives the trial.
  RunnerTrial(std::string type, const RunnerProfile& profile, std::function<void(const TrialStep&)> tell);

  // Looks for its programs and its login. False if a program is missing, so that a run cannot even start.
  [[nodiscard]] bool look(const Environment& environment);
  // What the run writes to its log.
  void take(const LogRecord& record);
  // How it ended. `why` is for a task that is not over: what keeps it from running.
  void finish(const Task& task, std::string_view why, Millis took);

  [[nodiscard]] bool completed() const { return completed_; }
  // What to do if it did not complete.
  [[nodiscard]] const std::string& advice() const { return advice_; }
  // {"type", "preset", "completed", "steps": [{"name", "state", "detail"}], "session_id", "answer", "usage", "took_ms",
  // "advice"}
  [[nodiscard]] std::string to_json() const;

 private:
  void step(std::string name, TrialMark mark, std::string detail);
  void look_for_login(const Environment& environment);
  void start();
  void read_event(const JsonText& event);
  [[nodiscard]] std::string advice_for(ErrorClass error_class) const;

  const std::string type_;
  const RunnerProfile& profile_;
  const std::function<void(const TrialStep&)> tell_;
  std::vector<TrialStep> steps_;
  TranscriptLines lines_;
  bool started_ = false;
  bool completed_ = false;
  std::optional<std::string> session_;
  std::optional<std::string> answer_;
  std::optional<Usage> usage_;
  Millis took_{0};
  std::string login_advice_;
  std::string advice_;
};

}  // namespace drover::cli
