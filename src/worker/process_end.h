// How a process of a run ended, who ended it, and what that means when it was not the process itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "drover/task_queue.h"

namespace drover {

using End = decltype(Settlement::end);

// Why the worker ended a run before it ended itself.
enum class StopCause : std::uint8_t { kCancelled, kLeaseLost, kShutdown, kTimeout, kIdleTimeout, kBudget };

struct Exited {
  int code = 0;
};
struct KilledBySignal {
  int signal = 0;
};
// The worker could not start it, which is never the task's fault.
struct NotStarted {};
// The shim ended without a word: somebody killed it.
struct SupervisorLost {};

struct ProcessEnd {
  std::variant<Exited, KilledBySignal, NotStarted, SupervisorLost> how;
  std::optional<StopCause> stopped{};  // set when the end came after it was asked for
  bool ran_too_long = false;           // it was ended because its step's own time was over
  bool had_settled = false;            // it was ended after its last word, since it did not go: no interruption
};

// What follows when the process did not come to an end of its own: it was stopped, killed, or never started. Nothing if
// it exited by itself, or had said its last word. `last_words` is what it said last on stderr.
[[nodiscard]] std::optional<End> outcome_of_interruption(const ProcessEnd& end, const Task& task,
                                                         std::string_view last_words);
// What follows when the worker stopped it.
[[nodiscard]] End stopped_outcome(StopCause cause, const ProcessEnd& end, const Task& task);
[[nodiscard]] std::optional<int> exit_code_of(const ProcessEnd& end);
// "exit code 3: no such file", or without the words.
[[nodiscard]] std::string with_last_words(std::string message, std::string_view last_words);

[[nodiscard]] bool is_blank(std::string_view line);

// The last non-empty line of a stream, cut to what an error wants to say.
class LastLine {
 public:
  void feed(std::string_view bytes);
  [[nodiscard]] std::string text() const;  // UTF-8

 private:
  std::string line_;
  std::string last_;
};

// The last 4 KiB of a stream, for people and for the next run to read.
class Tail {
 public:
  void feed(std::string_view bytes);
  [[nodiscard]] std::string text() const;  // UTF-8

 private:
  std::string kept_;
};

}  // namespace drover
