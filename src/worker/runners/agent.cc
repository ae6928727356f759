#include "worker/runners/agent.h"

#include <fmt/format.h>

#include <csignal>
#include <ranges>

#include "agents/agent_reader.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/text.h"
#include "base/time_zone.h"
#include "base/try.h"
#include "core/run_report.h"
#include "core/session_record.h"
#include "worker/runners/own_file.h"
#include "worker/runners/workspace_step.h"
#include "worker/secrets.h"

namespace drover {
namespace {

using agents::AgentEvent;
using agents::AgentOutcome;

constexpr Millis kThrottleIsNews{60'000};

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

constexpr std::size_t kAnswersShown = 20;

std::string answer_text(const Question& question) {
  switch (question.state) {
    case QuestionState::kOpen:
      break;
    case QuestionState::kAnswered:
      return fmt::format("Answer (by {}): {}\n", question.answered_by.value_or("somebody"),
                         answer_to_word(question.answer.value_or("null")));
    case QuestionState::kExpired:
      return "Nobody answered in time.\n";
    case QuestionState::kWithdrawn:
      return fmt::format("It was withdrawn: {}\n", question.why.empty() ? "go on without an answer" : question.why);
  }
  return {};
}

// What an earlier run asked, with the answers that came meanwhile; the newest if there are many.
std::string answers_text(std::span<const Question> questions) {
  std::string text;
  const auto newest = questions.subspan(questions.size() - std::min(questions.size(), kAnswersShown));
  for (const Question& question : newest) {
    if (question.state != QuestionState::kOpen) text += fmt::format("{}\n{}\n", question.text, answer_text(question));
  }
  return text.empty() ? text : "You asked, and this is what came of it:\n\n" + text;
}

class AgentPlan final : public RunPlan {
 public:
  AgentPlan(const agents::Preset& preset, const RunSetting& setting) : preset_(preset), setting_(setting) {
    const std::optional<AgentState> last = last_agent();
    if (!last || last->session_id.empty()) return;
    if (const std::string why = why_out_of_reach(*last); !why.empty()) {
      note_ = fmt::format("session_lost: {} began afresh, since session {} {}", preset_.name, last->session_id, why);
    } else {
      resumes_ = last;
    }
  }

  Result<Next> begin() override { return agent_step(); }

  Heard take(LogStream stream, std::string_view bytes) override {
    if (phase_ == Phase::kInspect) return inspection_.take(stream, bytes);
    if (phase_ == Phase::kVerify) return take_of_verify(stream, bytes);
    const std::int64_t understood = reader_->lines_understood();
    const Time now = system_clock().wall();
    const bool is_out = stream == LogStream::kOut;
    Heard heard = of_events(is_out ? reader_->read_stdout(bytes, now) : reader_->read_stderr(bytes, now));
    if (!is_out) heard.log.push_back({stream, std::string(bytes)});
    heard.is_sign_of_life = reader_->lines_understood() > understood;
    heard.is_news = take_news();
    return heard;
  }

  bool has_settled() const override { return phase_ == Phase::kAgent && reader_->is_settled(); }

  // An agent that hangs after its last word may have written it down.
  Heard look_elsewhere() override {
    const std::optional<std::string>& session = reader_->session_id();
    if (phase_ != Phase::kAgent || !session) return {};
    const std::string path = find_own_file(preset_.own_file, environment(profile()), *session);
    const std::string added =
        Secrets(profile().env, setting_.worker_environment).hide(read_added(path, own_file_size_));
    Heard heard = of_events(reader_->read_own_file(added, system_clock().wall()));
    heard.is_news = take_news();
    return heard;
  }

  Heard finish() override {
    return phase_ == Phase::kAgent ? of_events(reader_->finish(system_clock().wall())) : Heard{};
  }

  RunReport report() const override {
    if (!reader_) return {};
    AgentState agent{.preset = std::string(preset_.name),
                     .session_id = reader_->session_id().value_or(resumes_ ? resumes_->session_id : ""),
                     .host = setting_.host,
                     .workspace = to_utf8(folder_),
                     .model = model_.value_or(""),
                     .resumed = resumes_.has_value(),
                     .session_totals = within_bounds(reader_->session_totals())};
    return {.agent = std::move(agent),
            .usage = within_bounds(usage()),
            .evidence = evidence_,
            .provider = ProviderSignal{.answered = reader_->has_answer(), .throttle = throttle()}};
  }

  Next after(const ProcessEnd& end) override {
    switch (phase_) {
      case Phase::kAgent:
        return noted(after_agent(end));
      case Phase::kInspect:
        return noted(after_inspection(end));
      case Phase::kVerify:
        return noted(after_verify(end));
    }
    return CannotRun{"a step of the agent that there is not"};
  }

 private:
  enum class Phase : std::uint8_t { kAgent, kInspect, kVerify };
  // What report() was last asked for with.
  struct Told {
    std::optional<std::string> session_id{};
    Usage usage{};
    bool has_answer = false;
    std::int64_t throttles = 0;

    bool operator==(const Told&) const = default;
  };

  [[nodiscard]] const Task& task() const { return setting_.claimed.task; }
  [[nodiscard]] const RunnerProfile& profile() const { return setting_.profile; }
  // Only where the profile has a check.
  [[nodiscard]] const Verify& verify() const {
    const std::optional<Verify>& check = profile().verify;
    CHECK(check.has_value());
    return *check;
  }

  // Whose session the run is to go on with: that of the named session, or of the task's last run.
  [[nodiscard]] std::optional<AgentState> last_agent() const {
    if (setting_.claimed.session) return setting_.claimed.session->agent;
    return next_run_of(task()).session == SessionUse::kResume ? agent_of(task()) : std::nullopt;
  }

  // The next task of a named session may work elsewhere, if the agent can be resumed there.
  [[nodiscard]] bool may_move() const { return setting_.claimed.session && preset_.resumes_anywhere; }

  // Why this run cannot go on with that session; empty if it can.
  [[nodiscard]] std::string why_out_of_reach(const AgentState& last) const {
    if (last.preset != preset_.name) return fmt::format("is one of {}", last.preset);
    if (last.host != setting_.host) return fmt::format("is on {}, and this is {}", last.host, setting_.host);
    if (may_move()) return {};
    if (last.workspace != to_utf8(folder_)) return fmt::format("worked in {}", last.workspace);
    if (setting_.workspace && setting_.workspace->is_new) return "worked in a workspace that is gone";
    return {};
  }

  Result<Next> agent_step() {
    phase_ = Phase::kAgent;
    std::string prompt = agent_prompt(setting_.claimed);
    if (prompt.empty()) {
      return Failure{.error_class = ErrorClass::kInvalid, .message = "the task has neither a prompt nor a payload"};
    }
    prompt = session_introduction(setting_.claimed, resumes_.has_value()) + prompt;
    agents::AgentCall call{.program = profile().argv.empty() ? "" : profile().argv.front(),
                           .folder = folder_,
                           .model = model_,
                           .agent = task().agent_id,
                           .title = fmt::format("{} {}", task().type, task().id.to_string()),
                           .permissions = profile().permissions};
    for (const std::string& word : profile().argv | std::views::drop(1)) call.args.push_back(word);
    if (resumes_) {
      call.resume_session = resumes_->session_id;
    } else if (preset_.takes_session_id) {
      call.new_session = random_uuid();
    }
    const std::optional<std::string>& system_prompt = task().system_prompt;
    if (system_prompt && preset_.takes_system_prompt_file) {
      call.system_prompt_file = TRY(setting_.files.write("system_prompt", *system_prompt));
    } else if (system_prompt) {
      prompt = *system_prompt + "\n\n" + prompt;
    }
    auto argv = agents::call_argv(preset_, call);
    if (!argv) return Failure{.error_class = ErrorClass::kInvalid, .message = argv.error().message};
    const std::string zone(variable_in(setting_.worker_environment, "TZ"));
    reader_ = std::make_unique<agents::AgentReader>(
        preset_, agents::ReaderOptions{.clock = {.now = system_clock().wall(), .offset = ZoneFiles(zone)},
                                       .model = model_.value_or(""),
                                       .session_totals = resumes_ ? resumes_->session_totals : Usage()});
    RunStep step{.argv = *std::move(argv), .environment = environment(profile()), .input = std::move(prompt)};
    own_file_size_ =
        resumes_ ? size_of_file(find_own_file(preset_.own_file, step.environment, resumes_->session_id)) : 0;
    for (const std::string_view variable : preset_.environment) step.environment.emplace_back(variable);
    step.interrupt_first = !preset_.stop_signals.empty() && preset_.stop_signals.front() == SIGINT;
    return step;
  }

  // What is about to be checked, as evidence.
  RunStep inspect_step(const WorkspaceUse& workspace) {
    phase_ = Phase::kInspect;
    json::Writer out;
    out.begin_object().key("root").string(workspace.root).key("task_id").string(task().id.to_string());
    out.key("argv").begin_array();
    for (const std::string& word : verify().argv) out.string(word);
    out.end_array().end_object();
    return inspection_.begin(setting_, "inspect", std::move(out).take());
  }

  // What it runs was written by the agent: it gets none of the secrets.
  RunStep verify_step() {
    phase_ = Phase::kVerify;
    verify_began_ = system_clock().mono();
    RunnerProfile without_secrets = profile();
    without_secrets.env.clear();
    return {.argv = verify().argv, .environment = environment(without_secrets), .timeout = verify().timeout};
  }

  [[nodiscard]] std::vector<std::string> environment(const RunnerProfile& allowed) const {
    return agent_environment(setting_.worker_environment, allowed, task(), setting_.files.door_path(),
                             setting_.worker_id);
  }

  // Of the run: of an agent that found its session gone, too.
  [[nodiscard]] Usage usage() const { return used_before_ + reader_->usage(); }

  [[nodiscard]] bool take_news() {
    if (reader_->throttles() > told_.throttles) throttled_at_ = system_clock().mono();
    Told news{reader_->session_id(), usage(), reader_->has_answer(), reader_->throttles()};
    if (news == told_) return false;
    told_ = std::move(news);
    return true;
  }

  // A refusal that the agent sat out long ago is over.
  [[nodiscard]] std::optional<ProviderThrottle> throttle() const {
    const auto& last = reader_->throttle();
    if (!last || !throttled_at_ || system_clock().mono() - *throttled_at_ > kThrottleIsNews) return std::nullopt;
    ProviderThrottle said{.error_class = last->error_class, .retry_after = last->retry_after};
    if (last->reset_at) said.retry_after = std::max(*last->reset_at - system_clock().wall(), Millis{0});
    return said;
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
    tail_.feed(bytes);
    return {.log = {{stream, std::string(bytes)}}, .is_sign_of_life = true};
  }

  Next after_agent(const ProcessEnd& end) {
    if (end.stopped) return stopped_outcome(*end.stopped, end, task());
    if (std::holds_alternative<NotStarted>(end.how) || std::holds_alternative<SupervisorLost>(end.how)) {
      auto interrupted = outcome_of_interruption(end, task(), "");
      CHECK(interrupted.has_value());
      return *std::move(interrupted);
    }
    const auto* killed = std::get_if<KilledBySignal>(&end.how);
    outcome_ = reader_->conclude({.code = exit_code_of(end).value_or(0),
                                  .signal = killed != nullptr ? std::optional(killed->signal) : std::nullopt,
                                  .stopped_after_result = end.had_settled});
    exit_code_ = exit_code_of(end);
    if (outcome_.session_lost && resumes_) return begin_afresh(*resumes_);
    if (!outcome_.completed) return failure_of(outcome_);
    if (!profile().verify) return completion();
    const std::optional<WorkspaceUse>& workspace = setting_.workspace;
    return workspace && workspace->has_repository ? inspect_step(*workspace) : verify_step();
  }

  Next after_inspection(const ProcessEnd& end) {
    if (end.stopped) return stopped_outcome(*end.stopped, end, task());
    auto inspected = inspection_.answer<workspace::Inspected>(end);
    if (!inspected) {
      return Failure{
          .error_class = WorkspaceStep::blames_task(end) ? ErrorClass::kAgentError : ErrorClass::kSpawnFailed,
          .message = "the work could not be inspected before its check: " + inspected.error().message};
    }
    inspected_ = *std::move(inspected);
    return verify_step();
  }

  // Once, inside the same attempt: a session that is gone is not the task's fault.
  Next begin_afresh(const AgentState& lost) {
    note_ = fmt::format("session_lost: {} could not resume {}, and began afresh", preset_.name, lost.session_id);
    used_before_ = usage();
    resumes_.reset();
    auto next = agent_step();
    if (next) return *std::move(next);
    return Failure{.error_class = ErrorClass::kSpawnFailed, .message = next.error().message};
  }

  Next after_verify(const ProcessEnd& end) {
    // The agent has run: the task must not go back as if nothing had begun.
    if (std::holds_alternative<NotStarted>(end.how)) {
      return Failure{.error_class = ErrorClass::kSpawnFailed,
                     .message = fmt::format("cannot run {}, which checks the work", verify().argv.front())};
    }
    const bool too_long = end.ran_too_long && !end.stopped;
    if (auto interrupted = outcome_of_interruption(end, task(), ""); interrupted && !too_long) return *interrupted;
    const int code = exit_code_of(end).value_or(0);
    keep_evidence(too_long ? std::nullopt : std::optional(code));
    if (code == 0 && !too_long) return completion();
    const std::string how = too_long ? fmt::format("ran longer than {}", format_duration(verify().timeout))
                                     : fmt::format("ended with exit code {}", code);
    return Failure{.error_class = ErrorClass::kVerifyFailed,
                   .message = fmt::format("{} {}", verify().argv.front(), how),
                   .exit_code = exit_code_of(end),
                   .note = tail_.text()};
  }

  void keep_evidence(std::optional<int> exit_code) {
    json::Writer writer;
    writer.begin_object().key("argv").begin_array();
    for (const std::string& word : verify().argv) writer.string(word);
    writer.end_array().key("exit_code");
    exit_code ? writer.number(*exit_code) : writer.null();
    writer.key("duration_ms").number((system_clock().mono() - verify_began_).count());
    writer.key("tail").string(tail_.text()).key("commit");
    inspected_ ? writer.string(inspected_->commit) : writer.null();
    writer.key("changed");
    if (inspected_) {
      writer.begin_array();
      for (const std::string& file : inspected_->changed) writer.string(file);
      writer.end_array();
    } else {
      writer.null();
    }
    writer.end_object();
    evidence_ = std::move(writer).take();
  }

  // The end of a run says what happened to the session.
  [[nodiscard]] Next noted(Next next) const {
    const auto add = [this](std::optional<std::string>& note) {
      note = note && !note->empty() ? fmt::format("{}\n{}", *note_, *note) : *note_;
    };
    auto* end = note_ ? std::get_if<End>(&next) : nullptr;
    if (end == nullptr) return next;
    if (auto* completion = std::get_if<Completion>(end)) add(completion->note);
    if (auto* failure = std::get_if<Failure>(end)) add(failure->note);
    return next;
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
  const std::string& folder_ = setting_.folder;
  const std::optional<std::string> model_ = next_run_of(task()).model.or_else([&] { return task().model; });
  std::optional<AgentState> resumes_;  // the session that it goes on with
  Phase phase_ = Phase::kAgent;
  std::unique_ptr<agents::AgentReader> reader_;
  std::int64_t own_file_size_ = 0;  // of a session that was there before
  AgentOutcome outcome_;
  std::optional<int> exit_code_;
  std::optional<std::string> note_;  // what happened to the session
  Usage used_before_;                // by an agent that found its session gone
  Told told_;
  std::optional<MonoTime> throttled_at_;
  MonoTime verify_began_{};
  std::optional<JsonText> evidence_;
  Tail tail_;
  WorkspaceStep inspection_;
  std::optional<workspace::Inspected> inspected_;
};

}  // namespace

std::unique_ptr<RunPlan> make_agent_plan(const agents::Preset& preset, const RunSetting& setting) {
  return std::make_unique<AgentPlan>(preset, setting);
}

std::string session_introduction(const ClaimedTask& claimed, bool goes_on) {
  if (!claimed.session) return {};
  const SessionStart& session = *claimed.session;
  std::string text;
  if (!session.preflight.empty() && (session.preflight_due || !goes_on)) text += session.preflight + "\n\n";
  const auto bootstrap = bootstrap_of(claimed.task);
  if (bootstrap && (session.bootstrap_due || !goes_on)) text += bootstrap->text + "\n\n";
  return text;
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
  std::string before;
  if (!lessons.empty()) before = fmt::format("Earlier runs of this task did not finish it:\n\n{}\n", lessons);
  before += answers_text(claimed.questions);
  return before.empty() ? prompt : fmt::format("{}The task:\n\n{}", before, prompt);
}

}  // namespace drover
