#include "cli/runner_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "cli/installed_agent.h"
#include "cli/task_view.h"
#include "cli/verbs/runner.h"
#include "core/names.h"
#include "worker/runner_profile.h"

namespace drover::cli {
namespace {

constexpr Names<3> kMarkNames{"ok", "doubt", "failed"};

}  // namespace

std::string_view name_of(TrialMark mark) {
  return name_in(kMarkNames, mark);
}

RunnerTrial::RunnerTrial(std::string type, const RunnerProfile& profile, std::function<void(const TrialStep&)> tell)
    : type_(std::move(type)), profile_(profile), tell_(std::move(tell)) {}

void RunnerTrial::step(std::string name, TrialMark mark, std::string detail) {
  steps_.push_back({.name = std::move(name), .mark = mark, .detail = std::move(detail)});
  tell_(steps_.back());
}

bool RunnerTrial::look(const Environment& environment) {
  const std::string* path = environment.find("PATH");
  if (const auto missing = missing_program(profile_, path != nullptr ? *path : "")) {
    step("program", TrialMark::kFailed, fmt::format("{} is not found", missing->name));
    advice_ = fmt::format("install it, or correct local.runners.{}.{} in drover.yaml", type_, missing->field);
    return false;
  }
  step("program", TrialMark::kOk, find_in_path(profile_.argv.front(), environment));
  look_for_login(environment);
  return true;
}

// A variable that the profile does not name never reaches the agent, so it does not count.
void RunnerTrial::look_for_login(const Environment& environment) {
  const InstalledAgent agent = look_at(*profile_.preset, environment);
  const auto is_passed_on = [&](const std::string& name) {
    return std::ranges::find(profile_.env, name) != profile_.env.end();
  };
  const auto passed_on = std::ranges::find_if(agent.login_variables, is_passed_on);
  login_advice_ = how_to_log_in(*profile_.preset);
  if (passed_on != agent.login_variables.end()) return step("login", TrialMark::kOk, *passed_on);
  if (!agent.login_file.empty()) return step("login", TrialMark::kOk, agent.login_file);
  if (agent.login_variables.empty()) return step("login", TrialMark::kDoubt, "none was found");
  const std::string& kept_back = agent.login_variables.front();
  login_advice_ = fmt::format("add {} to local.runners.{}.env in drover.yaml, then `drover trust`", kept_back, type_);
  step("login", TrialMark::kDoubt, fmt::format("{} is set, but the agent does not get it", kept_back));
}

void RunnerTrial::start() {
  if (std::exchange(started_, true)) return;
  step("started", TrialMark::kOk, "");
}

void RunnerTrial::take(const LogRecord& record) {
  if (record.stream != LogStream::kDrover) start();
  for (const TranscriptLine& line : lines_.feed(record)) read_event(line.event);
}

void RunnerTrial::read_event(const JsonText& text) {
  const auto event = json::parse(text);
  const json::Value* kind = event ? event->find("kind") : nullptr;
  if (kind == nullptr || kind->as_string() == nullptr) return;
  const json::Value* id = event->find("text");
  if (*kind->as_string() == "session" && id != nullptr && id->as_string() != nullptr && !session_) {
    session_ = *id->as_string();
    step("session", TrialMark::kOk, *session_);
  }
  Usage usage;
  if (const json::Value* used = event->find("usage"); used != nullptr && read_json(json::dump(*used), usage))
    usage_ = usage;
}

void RunnerTrial::finish(const Task& task, std::string_view why, Millis took) {
  took_ = took;
  completed_ = task.state == TaskState::kCompleted;
  const ErrorClass error_class = task.error ? task.error->error_class : ErrorClass::kSpawnFailed;
  if (completed_ || (is_terminal(task.state) && error_class != ErrorClass::kSpawnFailed)) start();
  if (completed_) {
    answer_ = result_text(task);
    while (answer_->ends_with('\n')) answer_->pop_back();
    step("answered", TrialMark::kOk, *answer_);
  } else {
    step(started_ ? "answered" : "started", TrialMark::kFailed,
         task.error ? fmt::format("{}: {}", name_of(error_class), task.error->message) : std::string(why));
    advice_ = advice_for(error_class);
  }
  if (usage_) step("usage", TrialMark::kOk, fmt::format("{}; cost {}", tokens_text(*usage_), cost_text(*usage_)));
  step("took", TrialMark::kOk, format_duration(took));
}

std::string RunnerTrial::advice_for(ErrorClass error_class) const {
  const std::string& program = profile_.argv.front();
  switch (error_class) {
    case ErrorClass::kAuth:
      return login_advice_;
    case ErrorClass::kBilling:
    case ErrorClass::kQuotaExhausted:
      return "the account has used up its quota or credit: wait until its limit resets, or use another account";
    case ErrorClass::kRateLimited:
    case ErrorClass::kOverloaded:
      return "the agent works, but its provider accepts no more requests at the moment: try again later";
    case ErrorClass::kTimeout:
      return fmt::format("give it more time with --timeout, or start `{}` by hand and see what it waits for", program);
    case ErrorClass::kAgentError:
    case ErrorClass::kSyntax:
    case ErrorClass::kInvalid:
    case ErrorClass::kOom:
    case ErrorClass::kContextTooLong:
    case ErrorClass::kKilled:
    case ErrorClass::kSpawnFailed:
    case ErrorClass::kResultTooLarge:
    case ErrorClass::kVerifyFailed:
    case ErrorClass::kMaxTurns:
    case ErrorClass::kBudgetExceeded:
    case ErrorClass::kStalled:
    case ErrorClass::kLost:
    case ErrorClass::kDeadline:
    case ErrorClass::kParentFailed:
    case ErrorClass::kInvalidPayload:
    case ErrorClass::kUnknownType:
    case ErrorClass::kSuspended:
      break;
  }
  return fmt::format(
      "start `{}` by hand in this folder and see what it says; local.runners.{} says how Drover calls it", program,
      type_);
}

std::string RunnerTrial::to_json() const {
  json::Writer out;
  out.begin_object().key("type").string(type_).key("preset").string(profile_.preset->name);
  out.key("completed").boolean(completed_).key("steps").begin_array();
  for (const TrialStep& one : steps_) {
    out.begin_object().key("name").string(one.name).key("state").string(name_of(one.mark));
    out.key("detail").string(one.detail).end_object();
  }
  out.end_array().key("session_id").string_or_null(session_.value_or(""));
  out.key("answer").string_or_null(answer_.value_or(""));
  out.key("usage").raw(usage_ ? usage_json(*usage_) : "null").key("took_ms").number(took_.count());
  out.key("advice").string_or_null(advice_).end_object();
  return std::move(out).take();
}

}  // namespace drover::cli
