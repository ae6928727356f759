#include "worker/process_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/failpoint.h"
#include "base/log.h"
#include "base/try.h"
#include "core/gate_name.h"
#include "worker/machine_limits.h"
#include "worker/runners/agent.h"
#include "worker/runners/exec.h"
#include "worker/runners/workspace.h"

namespace drover {
namespace {

constexpr MonoTime kNever{Millis::max()};
constexpr std::size_t kReadBytes = 64 * 1024;
constexpr Millis kFlushEvery{250};
constexpr Millis kDoingEvery{2'000};
constexpr Millis kNewsEvery{1'000};
// A program that was not refused for that long has been answered.
constexpr Millis kUnhindered{60'000};
// How long the rest of the log is tried at the end of a run, while the store does not answer.
constexpr Millis kLastWordsMax{5'000};
// The task may be another worker's already: no time for the full grace.
constexpr Millis kLeaseLostGrace{1'000};
// What has said its last word gets this long to go by itself.
constexpr Millis kSettledGrace{5'000};
// A shim that has not ended so long after its grace is stuck: it is killed, and its tree is swept from here. All is to
// be gone within a second.
constexpr Millis kShimOverdue{600};
// Orphans that do not die within this are beyond us (stuck in the kernel): said, and the run ends.
constexpr Millis kSweepMax{5'000};
constexpr Millis kSweepPass{5};
// How soon an answer is heard of; and an agent's session, which it can be resumed with.
constexpr Millis kLookAtQuestionEvery{500};
constexpr Millis kLookForSessionEvery{5'000};
// What may be left in a pipe when its writers are dead is at most its capacity; a stranger who holds it open is not
// waited for.
constexpr int kDrainReadsMax = 64;

MonoTime after(MonoTime since, Millis limit) {
  return limit > Millis{0} ? since + limit : kNever;
}

// Nothing of it has begun: there is nothing to say of it.
bool is_untouched(const End& end) {
  const auto* release = std::get_if<Release>(&end);
  return release != nullptr && release->begun != Begun::kMaybe;
}

// To say it once more.
bool may_help_again(const Status& told) {
  return !told && error_info(told.error().code).retryable == Retryable::kYes;
}

std::string current_folder() {
  std::error_code error;  // somebody may have deleted it
  return std::filesystem::current_path(error).string();
}

std::unique_ptr<RunPlan> make_program_plan(const RunSetting& setting) {
  const agents::Preset* preset = setting.profile.preset;
  return preset != nullptr ? make_agent_plan(*preset, setting) : make_exec_plan(setting);
}

Result<std::unique_ptr<RunPlan>> make_plan(RunSetting setting, TaskQueue& queue) {
  auto workspace = choose_workspace(setting.claimed.task, setting.profile.workspace, setting.repos);
  if (workspace && workspace->kind == WorkspaceKind::kNone) return make_program_plan(setting);
  setting.store_id = TRY(queue.store_id());
  return make_workspace_plan(setting, std::move(workspace), make_program_plan);
}

}  // namespace

ProcessRun::ProcessRun(Host host, ClaimedTask claimed, MonoTime expires_at)
    : host_(host), claimed_(std::make_shared<const ClaimedTask>(std::move(claimed))), expires_at_(expires_at) {}

void ProcessRun::start(MonoTime now) {
  started_at_ = active_at_ = now;
  const std::string& type = claimed_->task.type;
  profile_ = host_.options.runners.find(type);
  if (profile_ == nullptr || profile_->argv.empty()) {
    host_.troubles.cannot_run(type, "this worker has no runner for it", now);
    return begin_flushing(Release{Begun::kNo});
  }
  if (const Status started = try_start(); !started) {
    host_.troubles.cannot_start(started.error().message, now);
    begin_flushing(Release{Begun::kNo});
  }
}

Status ProcessRun::try_start() {
  const Task& task = claimed_->task;
  files_ = TRY(RunFiles::make(host_.options.state_dir, task.id, task.run));
  file_ = OutputFile(files_.output_path(), host_.options.output_file_bytes_max);
  TRY(open_door());

  secrets_ = Secrets(profile_->env, host_.environment);
  plan_ = TRY(make_plan({.claimed = *claimed_,
                         .profile = *profile_,
                         .files = files_,
                         .worker_environment = host_.environment,
                         .worker_id = host_.options.worker_id,
                         .host = host_.options.host,
                         .result_bytes_max = host_.options.result_bytes_max,
                         .folder = current_folder(),
                         .repos = host_.options.runners.repos,
                         .shim_program = host_.options.shim_program,
                         .state_dir = host_.options.state_dir},
                        host_.queue));
  log_question(question_lines_.hear_at_start(*claimed_));
  auto first = TRY(plan_->begin());
  if (auto* step = std::get_if<RunStep>(&first)) return start_step(std::move(*step));
  begin_flushing(end_without_step(std::move(first)));
  return {};
}

Status ProcessRun::start_step(RunStep step) {
  program_ = step.argv.front();
  is_of_profile_ = step.is_of_profile;
  shim_ = TRY(start_shim({.shim_program = host_.options.shim_program,
                          .argv = std::move(step.argv),
                          .environment = std::move(step.environment),
                          .folder = std::move(step.folder),
                          .expires_at = expires_at_,
                          .lease = host_.options.lease}));
  failpoint(Failpoint::kWorkerAfterSpawn);
  report_ = {};
  status_lines_ = {};
  input_ = std::move(step.input);
  input_written_ = 0;
  interrupt_first_ = step.interrupt_first;
  is_settling_ = is_overdue_ = false;
  step_until_ = after(system_clock().mono(), step.timeout);
  settle_at_ = terminate_at_ = shim_overdue_at_ = kNever;
  phase_ = Phase::kRunning;
  watch_shim();
  return {};
}

Status ProcessRun::open_door() {
  door_ =
      TRY(Door::open(host_.loop, host_.door_bytes, files_.door_path(),
                     [this](HttpRequest request, Door::Reply reply) { answer(std::move(request), std::move(reply)); }));
  return {};
}

void ProcessRun::watch_shim() {
  EventLoop& loop = host_.loop;
  shim_watch_ = loop.watch(shim_.pidfd.get(), EPOLLIN, [this](std::uint32_t) { shim_ready(); });
  status_watch_ = loop.watch(shim_.status.get(), EPOLLIN, [this](std::uint32_t) { read_status(); });
  out_watch_ = loop.watch(shim_.out.get(), EPOLLIN, [this](std::uint32_t) { read_output(LogStream::kOut); });
  err_watch_ = loop.watch(shim_.err.get(), EPOLLIN, [this](std::uint32_t) { read_output(LogStream::kErr); });
  in_watch_ = loop.watch(shim_.in.get(), EPOLLOUT, [this](std::uint32_t) { write_input(); });
}

// ---- what the worker wants of it

void ProcessRun::lease_renewed(MonoTime expires_at) {
  expires_at_ = expires_at;
  if (phase_ == Phase::kRunning) send(LeaseUntil{expires_at});
}

void ProcessRun::stop(StopReason reason, MonoTime now) {
  const Millis grace = host_.options.grace;
  switch (reason) {
    case StopReason::kCancelled:
      return ask_to_stop(StopCause::kCancelled, grace, now);
    case StopReason::kLeaseLost:
      return ask_to_stop(StopCause::kLeaseLost, std::min(grace, kLeaseLostGrace), now);
    case StopReason::kShutdown:
      return ask_to_stop(StopCause::kShutdown, stop_cause_ ? Millis{0} : grace, now);
  }
}

// Asked again, the first cause stays and the shorter grace counts.
void ProcessRun::ask_to_stop(StopCause cause, Millis grace, MonoTime now) {
  if (phase_ != Phase::kRunning) return;
  if (!stop_cause_) stop_cause_ = cause;
  end_step(grace, now);
}

void ProcessRun::end_step(Millis grace, MonoTime now) {
  const bool is_first = shim_overdue_at_ == kNever;
  shim_overdue_at_ = std::min(shim_overdue_at_, now + grace + kShimOverdue);
  if (!interrupt_first_ || !is_first || grace == Millis{0}) return send(StopWithin{grace});
  terminate_at_ = now + grace / 2;
  send(InterruptAgent{});
}

void ProcessRun::abandon() {
  shim_.control.reset();
}

// A full pipe means that the shim does not read: what is lost is made up for by the next renewal, or by
// shim_overdue_at_.
void ProcessRun::send(const ShimOrder& order) {
  if (!shim_.control.is_open()) return;
  const std::string line = format_order(order);
  wake_shim(shim_);
  if (::write(shim_.control.get(), line.data(), line.size()) < 0 && errno != EAGAIN && errno != EPIPE) {
    log_warn("worker", "cannot send an order to the shim", {{"order", line}, {"error", std::strerror(errno)}});
  }
}

// ---- time

MonoTime ProcessRun::tick(MonoTime now) {
  if (phase_ == Phase::kRunning) {
    look_at_questions(now);
    check_timeouts(now);
  }
  if (phase_ == Phase::kSweeping && now >= sweep_at_) sweep(now);
  if (now >= flush_at_) flush_log();
  if (door_) door_tick_ = door_->tick(now);
  return next_tick();
}

void ProcessRun::check_timeouts(MonoTime now) {
  const Task& task = claimed_->task;
  if (!stop_cause_ && !waiting_since_ && now >= after(started_at_, task.timeout))
    ask_to_stop(StopCause::kTimeout, host_.options.grace, now);
  if (!stop_cause_ && !waiting_since_ && !is_settling_ && now >= after(active_at_, task.idle_timeout)) been_silent(now);
  if (now >= std::min(settle_at_, step_until_)) {
    (now >= settle_at_ ? is_settling_ : is_overdue_) = true;
    settle_at_ = step_until_ = kNever;
    end_step(host_.options.grace, now);
  }
  if (!has_told_unhindered_ && now >= unhindered_at()) {
    has_told_unhindered_ = has_news_ = true;
    flush_log();
  }
  if (now >= terminate_at_) {
    terminate_at_ = kNever;
    send(StopWithin{shim_overdue_at_ - now - kShimOverdue});
  }
  if (now >= shim_overdue_at_) {
    log_error("worker", "a shim does not exit; killing it", {{"task", task.id.to_string()}});
    shim_overdue_at_ = kNever;
    kill_shim(shim_);
  }
}

void ProcessRun::been_silent(MonoTime now) {
  if (!plan_->has_settled()) heard(plan_->look_elsewhere(), now);
  if (!plan_->has_settled()) return ask_to_stop(StopCause::kIdleTimeout, host_.options.grace, now);
  settle_at_ = now;
}

MonoTime ProcessRun::next_tick() const {
  MonoTime next = std::min(flush_at_, door_tick_);
  if (phase_ == Phase::kSweeping) next = std::min(next, sweep_at_);
  if (phase_ != Phase::kRunning) return next;
  next = std::min({next, shim_overdue_at_, terminate_at_, settle_at_, step_until_});
  if (!has_told_unhindered_) next = std::min(next, unhindered_at());
  for (const Asked& asked : waits_) next = std::min(next, asked.look_at);
  next = std::min(next, gives_way_at_);
  if (stop_cause_ || is_settling_ || waiting_since_) return next;
  return std::min({next, after(started_at_, claimed_->task.timeout), after(active_at_, claimed_->task.idle_timeout)});
}

// ---- input and output

void ProcessRun::write_input() {
  while (input_written_ < input_.size()) {
    const ssize_t size = ::write(shim_.in.get(), input_.data() + input_written_, input_.size() - input_written_);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size < 0) return close_input();  // the agent does not want it
    input_written_ += static_cast<std::size_t>(size);
  }
  close_input();
}

void ProcessRun::close_input() {
  in_watch_.reset();
  shim_.in.reset();
  input_ = {};
}

void ProcessRun::read_output(LogStream stream) {
  UniqueFd& fd = stream == LogStream::kOut ? shim_.out : shim_.err;
  std::array<char, kReadBytes> buffer;
  const ssize_t size = ::read(fd.get(), buffer.data(), buffer.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size > 0) {
    SecretStream& hiding = stream == LogStream::kOut ? out_bytes_ : err_bytes_;
    return take_output(stream, hiding.feed(secrets_, {buffer.data(), static_cast<std::size_t>(size)}));
  }
  (stream == LogStream::kOut ? out_watch_ : err_watch_).reset();
  fd.reset();
  if (!shim_.out.is_open() && !shim_.err.is_open()) send(OutputClosed{});
}

void ProcessRun::take_output(LogStream stream, std::string_view bytes) {
  if (bytes.empty()) return;
  const MonoTime now = system_clock().mono();
  file_.write(bytes);
  heard(plan_->take(stream, bytes), now);
}

void ProcessRun::heard(const Heard& heard, MonoTime now) {
  if (heard.is_sign_of_life) active_at_ = now;
  if (!plan_->has_settled()) {
    settle_at_ = kNever;
  } else if (settle_at_ == kNever && !is_settling_ && !is_overdue_) {
    settle_at_ = now + kSettledGrace;
  }
  if (heard.doing && *heard.doing != told_doing_) doing_ = heard.doing;
  has_news_ = has_news_ || heard.is_news;
  for (const LogChunk& chunk : heard.log) log_.add(chunk.stream, chunk.text);
  if (std::string complaint = file_.take_complaint(); !complaint.empty()) {
    log_.add_remark("[the full output is not kept: " + complaint + "]");
  }
  if (flush_at_ == kNever) flush_at_ = now + kFlushEvery;
}

void ProcessRun::finish_output() {
  take_output(LogStream::kOut, out_bytes_.finish(secrets_));
  take_output(LogStream::kErr, err_bytes_.finish(secrets_));
  heard(plan_->finish(), system_clock().mono());
}

void ProcessRun::flush_log() {
  flush_at_ = kNever;
  if (log_in_flight_ || (log_.is_empty() && !doing_ && !has_news_)) return;
  log_in_flight_ = true;
  auto call = [weak = weak_from_this(), &queue = host_.queue, &loop = host_.loop, claimed = claimed_,
               doing = take_doing(), report = take_report_due(), chunks = log_.take()]() mutable {
    const Result<ReportAnswer> answer =
        report.is_empty() ? Result<ReportAnswer>(ReportAnswer{}) : queue.report(claimed->lease, report);
    const Status reported = answer ? Status{} : Status(std::unexpected(answer.error()));
    if (!reported) {
      log_debug("worker", "report not stored",
                {{"task", claimed->task.id.to_string()}, {"error", to_string(reported.error())}});
    }
    Status status = chunks.empty() ? Status{} : queue.append_log(claimed->lease, chunks);
    // What it is at now will soon be something else: one that is lost is not sent again.
    if (const Status told = doing ? queue.progress(claimed->lease, {.percent = 0, .message = *doing}) : Status{};
        !told) {
      log_debug("worker", "progress not stored",
                {{"task", claimed->task.id.to_string()}, {"error", to_string(told.error())}});
    }
    loop.post([weak, is_untold = may_help_again(reported), stop = answer ? answer->stop : std::nullopt,
               status = std::move(status), chunks = std::move(chunks)]() mutable {
      const auto self = weak.lock();
      if (self == nullptr) return;
      self->obey(stop);
      self->has_news_ = self->has_news_ || is_untold;
      self->log_stored(status, std::move(chunks));
    });
  };
  host_.log_calls.post(std::move(call));
}

void ProcessRun::obey(const std::optional<BudgetStop>& stop) {
  if (!stop || stop_cause_ || phase_ != Phase::kRunning) return;
  budget_stop_ = stop;
  log_.add_remark(fmt::format("[stopped: {}]", stop->why));
  ask_to_stop(StopCause::kBudget, host_.options.grace, system_clock().mono());
}

// How it ended is known where it ends; why it was to, only here.
void ProcessRun::say_what_stopped_it() {
  auto* failure = std::get_if<Failure>(&end_);
  if (!budget_stop_ || failure == nullptr || failure->error_class != ErrorClass::kBudgetExceeded) return;
  failure->message = budget_stop_->why;
  if (budget_stop_->on_breach != OnBreach::kFail) failure->waits_at = budget_stop_->gate;
}

std::optional<std::string> ProcessRun::take_doing() {
  const MonoTime now = system_clock().mono();
  if (!doing_ || now < doing_due_) return std::nullopt;
  doing_due_ = now + kDoingEvery;
  told_doing_ = *doing_;
  return std::exchange(doing_, std::nullopt);
}

RunReport ProcessRun::take_report_due() {
  const MonoTime now = system_clock().mono();
  if (!has_news_ || now < news_due_ || phase_ == Phase::kFlushing) return {};
  news_due_ = now + kNewsEvery;
  has_news_ = false;
  RunReport report = plan_->report();
  if (!report.provider && now >= unhindered_at()) report.provider = ProviderSignal{.answered = true};
  return report;
}

// When a program that says nothing of its provider has run for so long that it must have been answered.
MonoTime ProcessRun::unhindered_at() const {
  const bool has_provider = std::ranges::any_of(
      claimed_->task.gates, [](const std::string& gate) { return subject_of(gate, GateKind::kProvider).has_value(); });
  return has_provider && profile_->preset == nullptr ? started_at_ + kUnhindered : kNever;
}

void ProcessRun::log_stored(const Status& status, std::vector<LogChunk> chunks) {
  log_in_flight_ = false;
  const MonoTime now = system_clock().mono();
  if (!status) {
    log_debug("worker", "log not stored", {{"task", lease().task.to_string()}, {"error", to_string(status.error())}});
    if (may_help_again(status)) log_.put_back(std::move(chunks));
    if (phase_ == Phase::kFlushing && (!may_help_again(status) || now >= flush_until_)) log_ = {};
  }
  if (!log_.is_empty() || doing_ || has_news_) {
    flush_at_ = status && phase_ == Phase::kFlushing ? now : now + kFlushEvery;
  }
  end_if_flushed();
}

void ProcessRun::answer(HttpRequest request, Door::Reply reply) {
  active_at_ = system_clock().mono();
  request.body = secrets_.hide(request.body);
  const MonoTime until = active_at_ + wait_of(request);
  asked_.push_back({std::move(request), std::move(reply), until});
  answer_next();
}

void ProcessRun::answer_next() {
  if (is_answering_ || asked_.empty()) return;
  is_answering_ = true;
  const auto usage = profile_->reports_usage ? UsageAtDoor::kTaken : UsageAtDoor::kRefused;
  host_.door_calls.post([weak = weak_from_this(), &queue = host_.queue, &loop = host_.loop, claimed = claimed_, usage,
                         asked = std::move(asked_.front())]() mutable {
    LastWill will;
    HttpResponse response = answer_door(queue, *claimed, usage, asked.request, will);
    loop.post([weak, asked = std::move(asked), response = std::move(response), will = std::move(will)]() mutable {
      const auto self = weak.lock();
      if (!self) return asked.reply(response);
      self->obey(will.stop);
      self->is_answering_ = false;
      self->answered(std::move(asked), will, response);
      self->answer_next();
      self->end_if_flushed();
    });
  });
  asked_.pop_front();
}

// ---- questions

void ProcessRun::answered(Asked asked, const LastWill& will, const HttpResponse& response) {
  const MonoTime now = system_clock().mono();
  will_.add(will);
  for (const Question& question : will.heard) log_question(question_lines_.hear(question));
  heard_of_questions(will, now);
  if (phase_ == Phase::kRunning && will.has_open_question() && now < asked.until) {
    return keep_waiting(std::move(asked), now);
  }
  end_waiting(asked, now);
  asked.reply(response);
}

void ProcessRun::log_question(const std::string& lines) {
  if (lines.empty()) return;
  log_.add(LogStream::kTranscript, lines);
  if (flush_at_ == kNever) flush_at_ = system_clock().mono() + kFlushEvery;
}

void ProcessRun::keep_waiting(Asked asked, MonoTime now) {
  if (!asked.is_waiting) {
    asked.is_waiting = true;
    if (waiting_n_++ == 0) waiting_since_ = now;
  }
  asked.look_at = std::min(now + kLookAtQuestionEvery, asked.until);
  waits_.push_back(std::move(asked));
}

// The time that it waited is not counted.
void ProcessRun::end_waiting(const Asked& asked, MonoTime now) {
  if (!asked.is_waiting || --waiting_n_ > 0 || !waiting_since_) return;
  started_at_ = started_at_ + (now - *waiting_since_);
  if (step_until_ != kNever) step_until_ = step_until_ + (now - *waiting_since_);
  active_at_ = now;
  waiting_since_.reset();
}

void ProcessRun::look_at_questions(MonoTime now) {
  for (auto asked = waits_.begin(); asked != waits_.end();) {
    if (asked->look_at > now) {
      ++asked;
      continue;
    }
    asked_.push_back(std::move(*asked));
    asked = waits_.erase(asked);
  }
  answer_next();
  if (now < gives_way_at_ || stop_cause_) return;
  if (!will_.has_open_question()) {
    gives_way_at_ = kNever;
  } else if (!can_resume()) {
    gives_way_at_ = now + kLookForSessionEvery;
  } else {
    gives_way_at_ = kNever;
    ask_to_stop(StopCause::kAsks, host_.options.grace, now);
  }
}

// An agent whose session can be resumed waits for so long, and then its task suspends. Programs suspend by themselves.
void ProcessRun::heard_of_questions(const LastWill& will, MonoTime now) {
  if (profile_->preset == nullptr || claimed_->task.at_most_once) return;
  for (const LastWill::Asked& asked : will.asked) {
    if (asked.is_open && asked.wait) gives_way_at_ = std::min(gives_way_at_, now + *asked.wait);
  }
}

bool ProcessRun::can_resume() const {
  const RunReport report = plan_->report();
  return report.agent && !report.agent->session_id.empty();
}

// ---- the end

void ProcessRun::read_status() {
  std::array<char, 1024> buffer;
  const ssize_t size = ::read(shim_.status.get(), buffer.data(), buffer.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) {
    status_watch_.reset();  // its end is told by the pidfd
    return;
  }
  for (const std::string& line : status_lines_.feed({buffer.data(), static_cast<std::size_t>(size)})) {
    if (const auto report = parse_report(line)) take_report(*report);
  }
}

void ProcessRun::take_report(const ShimReport& report) {
  if (const auto* failed = std::get_if<SpawnFailed>(&report)) {
    report_ = *failed;
    spawn_failed(failed->error_number);
  }
  if (const auto* exited = std::get_if<AgentExited>(&report)) report_ = *exited;
  if (const auto* killed = std::get_if<AgentKilled>(&report)) report_ = *killed;
  if (std::holds_alternative<AgentStarted>(report) && is_of_profile_) host_.started(claimed_->task.type);
}

void ProcessRun::spawn_failed(int error_number) {
  const std::string why = fmt::format("cannot run {}: {}", program_, explain_error(error_number));
  if (is_used_up(error_number)) return host_.troubles.cannot_start(why, system_clock().mono());
  if (is_of_profile_) cannot_run(why);
}

void ProcessRun::cannot_run(const std::string& why) {
  host_.troubles.cannot_run(type_in_trouble(), why, system_clock().mono());
}

// None: the one profile for all types.
std::optional<std::string> ProcessRun::type_in_trouble() const {
  const Runners& runners = host_.options.runners;
  const bool is_for_all = runners.for_all && profile_ == &*runners.for_all;
  return is_for_all ? std::nullopt : std::optional(claimed_->task.type);
}

End ProcessRun::end_without_step(Next next) {
  if (auto* end = std::get_if<End>(&next)) return std::move(*end);
  if (const auto* unable = std::get_if<CannotRun>(&next)) {
    cannot_run(unable->why);
    return Release{Begun::kNo};
  }
  host_.troubles.cannot_run_task(lease().task, type_in_trouble(), std::get<NotHere>(next).why, system_clock().mono());
  return Release{Begun::kNotHere};
}

void ProcessRun::shim_ready() {
  if (has_ended(shim_)) shim_gone();
}

void ProcessRun::shim_gone() {
  shim_watch_.reset();
  drain_pipes();
  if (!std::holds_alternative<std::monostate>(report_)) return step_ended(process_end());
  // Killed from outside: what it watched over is ours now.
  phase_ = Phase::kSweeping;
  const MonoTime now = system_clock().mono();
  sweep_until_ = now + kSweepMax;
  sweep(now);
}

void ProcessRun::drain_pipes() {
  for (int i = 0; i < kDrainReadsMax && status_watch_.is_set(); ++i) read_status();
  for (int i = 0; i < kDrainReadsMax && out_watch_.is_set(); ++i) read_output(LogStream::kOut);
  for (int i = 0; i < kDrainReadsMax && err_watch_.is_set(); ++i) read_output(LogStream::kErr);
}

void ProcessRun::sweep(MonoTime now) {
  const std::size_t left = kill_orphans();
  sweep_at_ = now + kSweepPass;
  if (left > 0 && now < sweep_until_) return;
  if (left > 0) {
    log_error("worker", "processes of a run cannot be killed",
              {{"task", lease().task.to_string()}, {"left", std::to_string(left)}});
  }
  drain_pipes();
  step_ended(process_end());
}

ProcessEnd ProcessRun::process_end() const {
  if (std::holds_alternative<SpawnFailed>(report_)) return {.how = NotStarted{}};
  if (const auto* exited = std::get_if<AgentExited>(&report_)) {
    return {.how = Exited{exited->code},
            .stopped = cause(exited->by),
            .ran_too_long = is_overdue_,
            .had_settled = is_settling_};
  }
  if (const auto* killed = std::get_if<AgentKilled>(&report_)) {
    return {.how = KilledBySignal{killed->signal},
            .stopped = cause(killed->by),
            .ran_too_long = is_overdue_,
            .had_settled = is_settling_};
  }
  return {.how = SupervisorLost{}, .stopped = stop_cause_};
}

std::optional<StopCause> ProcessRun::cause(EndedBy by) const {
  switch (by) {
    case EndedBy::kItself:
      return std::nullopt;
    case EndedBy::kStop:
      return stop_cause_;
    case EndedBy::kFence:
      return stop_cause_.value_or(StopCause::kLeaseLost);
  }
  return std::nullopt;
}

// What the run said of itself wins over how it ended, unless it was stopped.
Next ProcessRun::next_after(const ProcessEnd& end) {
  is_its_own_end_ = !end.stopped && !std::holds_alternative<NotStarted>(end.how);
  if (!will_.failure || !is_its_own_end_) return plan_->after(end);
  Failure failure = *will_.failure;
  failure.exit_code = exit_code_of(end);
  return failure;
}

void ProcessRun::step_ended(const ProcessEnd& end) {
  finish_output();
  close_pipes();
  auto next = next_after(end);
  auto* step = std::get_if<RunStep>(&next);
  if (step == nullptr) return begin_flushing(end_without_step(std::move(next)));
  if (stop_cause_) return begin_flushing(stopped_outcome(*stop_cause_, end, claimed_->task));
  const Status started = start_step(*std::move(step));
  if (started) return;
  host_.troubles.cannot_start(started.error().message, system_clock().mono());
  begin_flushing(Failure{.error_class = ErrorClass::kSpawnFailed, .message = started.error().message});
}

void ProcessRun::begin_flushing(End end) {
  phase_ = Phase::kFlushing;
  flush_until_ = system_clock().mono() + kLastWordsMax;
  end_ = std::move(end);
  say_what_stopped_it();
  close_pipes();
  door_.reset();
  door_tick_ = kNever;
  if (file_.is_empty()) files_.remove_if_empty();
  asked_.clear();  // nobody is left who asked
  waits_.clear();
  log_.finish();
  doing_.reset();
  has_news_ = false;
  if (plan_ && !is_untouched(end_)) end_report_ = plan_->report();
  flush_log();
  end_if_flushed();
}

// What was asked at the door just before the end still counts.
void ProcessRun::end_if_flushed() {
  if (phase_ == Phase::kFlushing && !log_in_flight_ && log_.is_empty() && !is_answering_) phase_ = Phase::kOver;
}

void ProcessRun::close_pipes() {
  for (EventLoop::Watch* watch : {&shim_watch_, &status_watch_, &in_watch_, &out_watch_, &err_watch_}) watch->reset();
  shim_ = {};
}

RunEnded ProcessRun::end() const {
  if (!is_its_own_end_) return {lease(), end_, end_report_};
  LastWill will = will_;
  will.gives_way = profile_ != nullptr && profile_->preset != nullptr;
  if (claimed_->task.at_most_once) will.asked.clear();  // it cannot suspend
  return {lease(), with_will(end_, will), end_report_};
}

}  // namespace drover
