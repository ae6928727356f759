#include "worker/runners/agent.h"

#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <ranges>

#include "agents/agent_reader.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/text.h"
#include "base/time_zone.h"

namespace drover {
namespace {

using agents::AgentEvent;
using agents::AgentOutcome;

// What is kept of a verify command's output, for the next run to read.
constexpr std::size_t kTailBytes = 4 * 1024;

// A payload that is one text is meant as that text.
std::string payload_text(const JsonText& payload) {
  const auto value = json::parse(payload);
  const std::string* text = value ? value->as_string() : nullptr;
  return text != nullptr ? *text : payload;
}

// Version 4: some agents tell sessions apart by the first characters of their ids, which a time would make alike.
std::string random_uuid() {
  Rng& rng = system_rng();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", rng.below(1ULL << 32U), rng.below(1U << 16U),
                     rng.below(1U << 12U), 0x8000U + rng.below(1U << 14U), rng.below(1ULL << 48U));
}

// Only what may help: a run that was given back did nothing wrong.
bool has_a_lesson(const RunSummary& run) {
  return run.note || (run.error && run.outcome != "deferred");
}

std::string lesson_of(const RunSummary& run) {
  std::string text = fmt::format("Run {} {}", run.run, run.outcome);
  if (run.error) text += fmt::format(" ({}): {}", name_of(run.error->error_class), run.error->message);
  if (run.note) text += "\n" + *run.note;
  return text + "\n";
}

class AgentPlan final : public RunPlan {
 public:
  AgentPlan(const agents::Preset& preset, const RunSetting& setting) : preset_(preset), setting_(setting) {}

  Result<Next> begin() override { return agent_step(); }

  Heard take(LogStream stream, std::string_view bytes) override {
    if (phase_ == Phase::kVerify) return take_of_verify(stream, bytes);
    const std::int64_t understood = reader_->lines_understood();
    const Time now = system_clock().wall();
    const bool is_out = stream == LogStream::kOut;
    Heard heard = of_events(is_out ? reader_->read_stdout(bytes, now) : reader_->read_stderr(bytes, now));
    if (!is_out) heard.log.push_back({stream, std::string(bytes)});
    heard.is_sign_of_life = reader_->lines_understood() > understood;
    return heard;
  }

  bool has_settled() const override { return phase_ == Phase::kAgent && reader_->is_settled(); }

  Heard finish() override {
    return phase_ == Phase::kAgent ? of_events(reader_->finish(system_clock().wall())) : Heard{};
  }

  Next after(const ProcessEnd& end) override { return phase_ == Phase::kAgent ? after_agent(end) : after_verify(end); }

 private:
  enum class Phase : std::uint8_t { kAgent, kVerify };

  [[nodiscard]] const Task& task() const { return setting_.claimed.task; }
  [[nodiscard]] const RunnerProfile& profile() const { return setting_.profile; }

  Result<Next> agent_step() {
    phase_ = Phase::kAgent;
    std::string prompt = agent_prompt(setting_.claimed);
    if (prompt.empty()) {
      return Failure{.error_class = ErrorClass::kInvalid, .message = "the task has neither a prompt nor a payload"};
    }
    agents::AgentCall call{.program = profile().argv.empty() ? "" : profile().argv.front(),
                           .folder = std::filesystem::current_path().string(),
                           .model = task().model,
                           .agent = task().agent_id,
                           .title = fmt::format("{} {}", task().type, task().id.to_string()),
                           .permissions = profile().permissions};
    for (const std::string& word : profile().argv | std::views::drop(1)) call.args.push_back(word);
    if (preset_.takes_session_id) call.new_session = random_uuid();
    if (task().system_prompt && preset_.takes_system_prompt_file) {
      auto file = setting_.files.write("system_prompt", *task().system_prompt);
      if (!file) return std::unexpected(file.error());
      call.system_prompt_file = *std::move(file);
    } else if (task().system_prompt) {
      prompt = *task().system_prompt + "\n\n" + prompt;
    }
    auto argv = agents::call_argv(preset_, call);
    if (!argv) return Failure{.error_class = ErrorClass::kInvalid, .message = argv.error().message};
    const std::string zone(variable_in(setting_.worker_environment, "TZ"));
    reader_ = std::make_unique<agents::AgentReader>(
        preset_, agents::ReaderOptions{.clock = {.now = system_clock().wall(), .offset = ZoneFiles(zone)},
                                       .model = task().model.value_or("")});
    RunStep step{.argv = *std::move(argv), .environment = environment(profile()), .input = std::move(prompt)};
    for (const std::string_view variable : preset_.environment) step.environment.emplace_back(variable);
    step.interrupt_first = !preset_.stop_signals.empty() && preset_.stop_signals.front() == SIGINT;
    return step;
  }

  // What it runs was written by the agent: it gets none of the secrets.
  RunStep verify_step() {
    phase_ = Phase::kVerify;
    RunnerProfile without_secrets = profile();
    without_secrets.env.clear();
    return {.argv = profile().verify->argv,
            .environment = environment(without_secrets),
            .timeout = profile().verify->timeout};
  }

  [[nodiscard]] std::vector<std::string> environment(const RunnerProfile& allowed) const {
    return agent_environment(setting_.worker_environment, allowed, task(), setting_.files.door_path(),
                             setting_.worker_id);
  }

  [[nodiscard]] Heard of_events(const std::vector<AgentEvent>& events) const {
    Heard heard;
    for (const AgentEvent& event : events) {
      heard.log.push_back({LogStream::kTranscript, agents::event_json(event) + "\n"});
    }
    if (!events.empty()) heard.doing = doing();
    return heard;
  }

  [[nodiscard]] std::string doing() const {
    std::string text = counted(reader_->usage().turns, "turn");
    if (!reader_->current_tool().empty()) text += fmt::format(", {}", reader_->current_tool());
    return text;
  }

  Heard take_of_verify(LogStream stream, std::string_view bytes) {
    tail_.append(bytes);
    if (tail_.size() > 2 * kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
    return {.log = {{stream, std::string(bytes)}}, .is_sign_of_life = true};
  }

  Next after_agent(const ProcessEnd& end) {
    if (end.stopped) return stopped_outcome(*end.stopped, end, task());
    if (std::holds_alternative<NotStarted>(end.how) || std::holds_alternative<SupervisorLost>(end.how)) {
      return *outcome_of_interruption(end, task(), "");
    }
    const auto* killed = std::get_if<KilledBySignal>(&end.how);
    outcome_ = reader_->conclude({.code = exit_code_of(end).value_or(0),
                                  .signal = killed != nullptr ? std::optional(killed->signal) : std::nullopt,
                                  .stopped_after_result = end.had_settled});
    exit_code_ = exit_code_of(end);
    if (!outcome_.completed) return failure_of(outcome_);
    if (profile().verify) return verify_step();
    return completion();
  }

  Next after_verify(const ProcessEnd& end) {
    // The agent has run: the task must not go back as if nothing had begun.
    if (std::holds_alternative<NotStarted>(end.how)) {
      return Failure{.error_class = ErrorClass::kSpawnFailed,
                     .message = fmt::format("cannot run {}, which checks the work", profile().verify->argv.front())};
    }
    const bool too_long = end.ran_too_long && !end.stopped;
    if (auto interrupted = outcome_of_interruption(end, task(), ""); interrupted && !too_long) return *interrupted;
    const int code = exit_code_of(end).value_or(0);
    if (code == 0 && !too_long) return completion();
    const std::string how = too_long ? fmt::format("ran longer than {}", format_duration(profile().verify->timeout))
                                     : fmt::format("ended with exit code {}", code);
    return Failure{.error_class = ErrorClass::kVerifyFailed,
                   .message = fmt::format("{} {}", profile().verify->argv.front(), how),
                   .exit_code = exit_code_of(end),
                   .note = to_utf8(std::string_view(tail_).substr(tail_.size() - std::min(tail_.size(), kTailBytes)))};
  }

  [[nodiscard]] End completion() const { return Completion{.result = outcome_.result, .exit_code = exit_code_}; }

  [[nodiscard]] End failure_of(const AgentOutcome& outcome) const {
    return Failure{.error_class = outcome.error_class.value_or(ErrorClass::kAgentError),
                   .message = outcome.message,
                   .retry_after = outcome.wait_from(system_clock().wall()),
                   .exit_code = exit_code_};
  }

  const agents::Preset& preset_;
  const RunSetting setting_;
  Phase phase_ = Phase::kAgent;
  std::unique_ptr<agents::AgentReader> reader_;
  AgentOutcome outcome_;
  std::optional<int> exit_code_;
  std::string tail_;
};

}  // namespace

std::unique_ptr<RunPlan> make_agent_plan(const agents::Preset& preset, const RunSetting& setting) {
  return std::make_unique<AgentPlan>(preset, setting);
}

std::string agent_prompt(const ClaimedTask& claimed) {
  const Task& task = claimed.task;
  std::string prompt = task.prompt.value_or("");
  if (task.payload) {
    if (!prompt.empty()) prompt += "\n\n";
    prompt += payload_text(*task.payload);
  }
  if (prompt.empty()) return prompt;
  std::string lessons;
  for (const RunSummary& run : claimed.earlier_runs | std::views::reverse) {
    if (has_a_lesson(run)) lessons += lesson_of(run);
  }
  if (lessons.empty()) return prompt;
  return fmt::format("Earlier runs of this task did not finish it:\n\n{}\nThe task:\n\n{}", lessons, prompt);
}

}  // namespace drover
