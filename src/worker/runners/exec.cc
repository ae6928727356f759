#include "worker/runners/exec.h"

#include <fmt/format.h>

#include "agents/trouble.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/time_zone.h"
#include "core/error_class.h"

namespace drover {
namespace {

ErrorClass class_of_exit(int code) {
  switch (code) {
    case kExitInvalid:
      return ErrorClass::kInvalid;
    case kExitDeferred:
      return ErrorClass::kRateLimited;
    case kExitUnauthorised:
      return ErrorClass::kAuth;
    default:
      return ErrorClass::kAgentError;
  }
}

End completed(const ExecFacts& facts) {
  auto result = facts.out.result();
  if (!result)
    return Failure{.error_class = ErrorClass::kResultTooLarge, .message = result.error().message, .exit_code = 0};
  return Completion{.result = *std::move(result), .exit_code = 0};
}

// What its output says of the failure. A pattern of the profile wins over the exit code. What Drover reads by itself
// does not, but may say why a program defers itself, and for how long.
std::optional<agents::OutputTrouble> said_trouble(int code, const ExecFacts& facts, const agents::WallClock& clock) {
  const std::vector<std::string> lines = facts.tail.lines();
  auto trouble = agents::trouble_by_pattern(lines, facts.patterns, clock);
  if (trouble) return trouble;
  trouble = agents::usual_trouble(lines, clock);
  const bool defers = code == kExitDeferred && trouble && is_throttle(trouble->error_class);
  return class_of_exit(code) == ErrorClass::kAgentError || defers ? trouble : std::nullopt;
}

class ExecPlan final : public RunPlan {
 public:
  explicit ExecPlan(const RunSetting& setting) : setting_(setting), out_(setting.result_bytes_max) {}

  Result<Next> begin() override {
    const Task& task = setting_.claimed.task;
    return RunStep{.argv = setting_.profile.argv,
                   .environment = agent_environment(setting_.worker_environment, setting_.profile, task,
                                                    setting_.files.door_path(), setting_.worker_id),
                   .input = task.payload ? *task.payload : task.prompt.value_or("")};
  }

  Heard take(LogStream stream, std::string_view bytes) override {
    if (stream == LogStream::kOut) out_.feed(bytes);
    if (stream == LogStream::kErr) err_.feed(bytes);
    tail_.feed(stream, bytes);
    return {.log = {{stream, std::string(bytes)}}, .is_sign_of_life = true};
  }

  Next after(const ProcessEnd& end) override {
    const std::string zone(variable_in(setting_.worker_environment, "TZ"));
    return exec_outcome(end, {setting_.claimed.task, out_, err_, tail_, setting_.profile.patterns},
                        {.now = system_clock().wall(), .offset = ZoneFiles(zone)});
  }

 private:
  RunSetting setting_;
  ResultCapture out_;
  LastLine err_;
  agents::OutputTail tail_;
};

}  // namespace

void ResultCapture::feed(std::string_view bytes) {
  bytes_ += bytes.size();
  if (bytes_ <= bytes_max_) {
    all_.append(bytes);
  } else if (!all_.empty()) {
    all_ = {};
  }
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::string_view part = bytes.substr(0, newline);
    if (line_.size() + part.size() <= bytes_max_) {
      line_.append(part);
    } else {
      line_is_cut_ = true;
    }
    if (newline == std::string_view::npos) return;
    end_line();
    bytes.remove_prefix(newline + 1);
  }
}

void ResultCapture::end_line() {
  if (line_is_cut_ || !is_blank(line_)) {
    last_line_.swap(line_);
    last_line_is_cut_ = line_is_cut_;
  }
  line_.clear();
  line_is_cut_ = false;
}

Result<JsonText> ResultCapture::result() const {
  const bool open_line_counts = line_is_cut_ || !is_blank(line_);
  const std::string& line = open_line_counts ? line_ : last_line_;
  const bool is_cut = open_line_counts ? line_is_cut_ : last_line_is_cut_;
  if (!is_cut && !line.empty()) {
    if (auto value = json::compact(line)) return value;
  }
  if (bytes_ <= bytes_max_) {
    std::string text = json::quote(all_);
    if (text.size() <= bytes_max_) return text;
  }
  return fail(ErrorCode::kResultTooLarge,
              fmt::format("stdout has {} bytes and does not end with a line of JSON; a result has at most {} bytes",
                          bytes_, bytes_max_));
}

namespace {

// What a program prints of a wait is believed within reason: nothing that has passed, no more than a weekly limit
// takes.
std::optional<Millis> believed_wait(const std::optional<agents::OutputTrouble>& trouble, Time now) {
  constexpr Millis kWaitMax = std::chrono::days(8);
  if (!trouble) return std::nullopt;
  const auto wait = trouble->wait.from(now);
  return wait && *wait > Millis(0) && *wait <= kWaitMax ? wait : std::nullopt;
}

}  // namespace

End exec_outcome(const ProcessEnd& end, const ExecFacts& facts, const agents::WallClock& clock) {
  if (auto interrupted = outcome_of_interruption(end, facts.task, facts.err.text())) return *std::move(interrupted);
  const int code = exit_code_of(end).value_or(0);
  if (code == 0) return completed(facts);
  const auto trouble = said_trouble(code, facts, clock);
  const std::string words = trouble ? trouble->line : facts.err.text();
  return Failure{.error_class = trouble ? trouble->error_class : class_of_exit(code),
                 .message = with_last_words(fmt::format("exit code {}", code), words),
                 .retry_after = believed_wait(trouble, clock.now),
                 .exit_code = code,
                 .by_exit_code = !trouble};
}

std::unique_ptr<RunPlan> make_exec_plan(const RunSetting& setting) {
  return std::make_unique<ExecPlan>(setting);
}

}  // namespace drover
