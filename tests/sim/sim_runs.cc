#include "sim/sim_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "sim/sim_worker.h"
#include "sim/users.h"
#include "sim/world.h"
#include "worker/door.h"

namespace drover::sim {
namespace {

using namespace std::chrono_literals;

constexpr Millis kGrace{2'000};
constexpr Millis kObeysWithin{150};

// Twice as much at the end as half way.
RunReport used_by(const AgentRun& run, int part) {
  const std::int64_t tokens = std::int64_t{part} * (100 + run.run);
  RunReport report{.agent = AgentState{.preset = "sim", .session_id = fmt::format("{}.{}", run.number, run.run)},
                   .usage = Usage{.tokens = {.input = tokens, .output = tokens}, .turns = part},
                   .provider = ProviderSignal{.answered = true}};
  report.usage->models["model"] = {.tokens = report.usage->tokens};
  return report;
}

RunReport used_by(const Spending& spending, int requests) {
  return {.usage = usage_after(spending, requests),
          .provider = ProviderSignal{.answered = true},
          .at_door = spending.at_door};
}

int number_in(const Task& task) {
  // {"n":NUMBER}
  return task.payload ? std::atoi(task.payload->c_str() + 5) : 0;
}

StopCause cause_of(StopReason reason) {
  switch (reason) {
    case StopReason::kCancelled:
      return StopCause::kCancelled;
    case StopReason::kLeaseLost:
      return StopCause::kLeaseLost;
    case StopReason::kShutdown:
      return StopCause::kShutdown;
  }
  return StopCause::kShutdown;
}

}  // namespace

void SimRuns::start(ClaimedTask claimed, MonoTime expires_at) {
  if (worker_.dead()) return;
  auto agent = std::make_shared<Agent>();
  const Millis now = world_.clock().now();
  agent->task = std::move(claimed.task);
  agent->run = {.lease = claimed.lease,
                .worker = worker_.name(),
                .number = number_in(agent->task),
                .run = agent->task.run,
                .generation = agent->task.generation};
  agent->behaviour = behaviour_of(world_.plan(), agent->run.number, agent->task.run);
  agent->expires_at = world_.clock().since_start(expires_at);
  runs_[claimed.lease.id.to_string()] = agent->run;
  if (now >= agent->expires_at - worker_.lease() / 10) {
    // The shim's time to kill it has come before it could start.
    ended_.push_back(settlement(*agent, {.how = NotStarted{}, .stopped = StopCause::kLeaseLost}));
    worker_.wake_loop();
    return;
  }
  const Behaviour& behaviour = agent->behaviour;
  if (behaviour.kind != Behaviour::Kind::kHang) agent->ends_at = now + behaviour.takes;
  agent->times_out_at = now + agent->task.timeout;
  if (behaviour.talks) agent->talks_at = now + behaviour.takes / 3;
  if (behaviour.children > 0) agent->spawns_at = now + behaviour.takes / 2;
  if (!world_.plan().budgets.empty()) {
    agent->spending = spending_of(world_.plan(), agent->task.type, agent->run.number, agent->task.run);
    if (agent->spending->requests > 0) agent->requests_at = now + behaviour.takes / (agent->spending->requests + 1);
  }
  world_.trace("{} starts {} run {}", worker_.name(), agent->run.number, agent->run.run);
  world_.observe();
  world_.checker().started(agent->run, agent->task);
  world_.checker().told_of_session(agent->task, claimed.session);
  if (shims_frozen_until_ > now) world_.checker().unsupervised(agent->run.lease);
  agent->actor =
      world_.scheduler().add([this, weak = std::weak_ptr(agent), worker = std::weak_ptr(worker_.weak_from_this())] {
        const auto keep = worker.lock();
        const auto self = weak.lock();
        if (keep && self) step(self);
      });
  agents_.push_back(agent);
  world_.scheduler().wake(agent->actor, next_step(*agent));
}

SimRuns::Agent* SimRuns::find(const Lease& lease) {
  const auto found = std::ranges::find_if(agents_, [&](const auto& agent) { return agent->run.lease == lease; });
  return found == agents_.end() ? nullptr : found->get();
}

const AgentRun* SimRuns::find_run(const Lease& lease) const {
  const auto found = runs_.find(lease.id.to_string());
  return found == runs_.end() ? nullptr : &found->second;
}

void SimRuns::lease_renewed(const Lease& lease, MonoTime expires_at) {
  if (Agent* agent = find(lease)) agent->expires_at = world_.clock().since_start(expires_at);
}

void SimRuns::stop(const Lease& lease, StopReason reason) {
  Agent* agent = find(lease);
  if (agent == nullptr) return;
  world_.trace("{} stops {} run {} ({})", worker_.name(), agent->run.number, agent->run.run, static_cast<int>(reason));
  if (!agent->stopped) {
    ask_to_stop(*agent, cause_of(reason), world_.clock().now() + kGrace);
  } else if (reason == StopReason::kShutdown) {
    agent->kill_at = world_.clock().now();
  }
  world_.scheduler().wake(agent->actor, next_step(*agent));
}

std::vector<RunEnded> SimRuns::take_ended() {
  return std::exchange(ended_, {});
}

void SimRuns::die() {
  for (const auto& agent : agents_) {
    world_.checker().ended(agent->run.lease);
    world_.scheduler().remove(agent->actor);
  }
  agents_.clear();
  ended_.clear();
}

void SimRuns::freeze_shims(Millis until) {
  shims_frozen_until_ = until;
  for (const auto& agent : agents_) world_.checker().unsupervised(agent->run.lease);
}

Millis SimRuns::next_step(const Agent& agent) const {
  Millis next = std::min({agent.ends_at, agent.talks_at, agent.spawns_at, agent.requests_at});
  // Supervision: by the shim, and for timeouts by the worker through it.
  Millis watched = std::min({agent.kill_at, agent.expires_at - worker_.lease() / 10});
  if (!agent.stopped)
    watched = std::min(
        {watched, std::max(agent.times_out_at, worker_.frozen_until()), agent.expires_at - worker_.lease() / 3});
  next = std::min(next, std::max(watched, shims_frozen_until_));
  return std::max(next, world_.clock().now() + Millis{1});
}

void SimRuns::step(const std::shared_ptr<Agent>& agent) {
  const Millis now = world_.clock().now();
  if (now >= agent->talks_at) speak(*agent);
  if (now >= agent->spawns_at) spawn_children(*agent);
  if (!worker_.dead() && now >= agent->requests_at) request(*agent);
  if (worker_.dead()) return;
  if (world_.clock().now() >= agent->ends_at) {
    if (agent->stopped && agent->behaviour.kind == Behaviour::Kind::kHang) return end(*agent, KilledBySignal{SIGTERM});
    return end(*agent, agent->behaviour.kind == Behaviour::Kind::kCrash
                           ? decltype(ProcessEnd::how)(KilledBySignal{SIGSEGV})
                           : Exited{agent->behaviour.kind == Behaviour::Kind::kFail ? 1 : 0});
  }
  if (world_.clock().now() >= shims_frozen_until_) supervise(*agent);
  if (std::ranges::find(agents_, agent) != agents_.end()) world_.scheduler().wake(agent->actor, next_step(*agent));
}

void SimRuns::supervise(Agent& agent) {
  const Millis now = world_.clock().now();
  const Millis fence_kill_at = agent.expires_at - worker_.lease() / 10;
  if (!agent.stopped && now >= agent.expires_at - worker_.lease() / 3)
    ask_to_stop(agent, StopCause::kLeaseLost, fence_kill_at);
  if (!agent.stopped && now >= agent.times_out_at && !worker_.frozen())
    ask_to_stop(agent, StopCause::kTimeout, now + kGrace);
  if (now >= std::min(agent.kill_at, fence_kill_at)) {
    if (!agent.stopped) agent.stopped = StopCause::kLeaseLost;
    end(agent, KilledBySignal{SIGKILL});
  }
}

void SimRuns::ask_to_stop(Agent& agent, StopCause cause, Millis kill_at) {
  agent.stopped = cause;
  agent.kill_at = std::min(agent.kill_at, kill_at);
  if (!agent.behaviour.ignores_term) agent.ends_at = std::min(agent.ends_at, world_.clock().now() + kObeysWithin);
}

// Through its own door: the worker passes it on, unless it is frozen.
void SimRuns::speak(Agent& agent) {
  agent.talks_at = kNever;
  if (worker_.frozen()) return;
  const Lease& lease = agent.run.lease;
  TaskQueue& queue = worker_.queue();
  const LogChunk chunk{LogStream::kOut, fmt::format("run {}\n", agent.run.run)};
  const Status progress = queue.progress(lease, {50, "half way"});
  const Status checkpoint =
      worker_.dead() ? Status{} : queue.checkpoint(lease, fmt::format(R"({{"run":{}}})", agent.run.run));
  const Status log = worker_.dead() ? Status{} : queue.append_log(lease, std::span(&chunk, 1));
  world_.checker().answered(agent.run);
  const bool used = agent.spending || worker_.dead() || queue.report(lease, used_by(agent.run, 1)).has_value();
  world_.trace("{} run {} talks: {}{}{}{}", agent.run.number, agent.run.run, progress.has_value(),
               checkpoint.has_value(), log.has_value(), used);
  if (!worker_.dead() && agent.run.number % 3 == 1) ask(agent);
}

// The model has answered, which cost something. A worker that is frozen tells of it with the next.
void SimRuns::request(Agent& agent) {
  const Spending& spending = *agent.spending;
  ++agent.requests;
  agent.requests_at = agent.requests < spending.requests
                          ? world_.clock().now() + agent.behaviour.takes / (spending.requests + 1)
                          : kNever;
  const RunReport report = used_by(spending, agent.requests);
  world_.checker().said_used(agent.run, *report.usage);
  if (worker_.frozen()) return;
  world_.checker().answered(agent.run);
  const auto answer = worker_.queue().report(agent.run.lease, report);
  world_.trace("{} run {} has made {} requests: {}", agent.run.number, agent.run.run, agent.requests,
               !answer        ? to_string(answer.error())
               : answer->stop ? "stop"
                              : "ok");
  if (!answer || worker_.dead()) return;
  world_.observe();
  world_.checker().took_usage(agent.run, *report.usage);
  if (!answer->stop || agent.stopped) return;
  agent.budget_stop = answer->stop;
  agent.requests_at = kNever;
  ask_to_stop(agent, StopCause::kBudget, world_.clock().now() + kGrace);
}

// One that gets its answer goes on; others give way when their run is done.
void SimRuns::ask(Agent& agent) {
  constexpr Millis kAskedFor{60'000};
  QuestionSpec spec{.text = fmt::format("{}?", agent.run.number), .expires = kAskedFor};
  if (agent.run.number % 2 == 1) spec.default_answer = R"("default")";
  const auto question = worker_.queue().ask(agent.run.lease, spec);
  world_.trace("{} run {} asks: {}", agent.run.number, agent.run.run,
               question ? std::string(name_of(question->state)) : to_string(question.error()));
  if (!question || worker_.dead()) return;
  world_.observe();
  agent.asked = *question;
  if (question->state == QuestionState::kOpen) world_.users().asked(*question);
}

void SimRuns::spawn_children(Agent& agent) {
  agent.spawns_at = kNever;
  if (worker_.frozen() || !world_.may_spawn()) return;
  std::vector<TaskSpec> specs;
  std::vector<int> numbers;
  for (int i = 0; i < agent.behaviour.children; ++i) {
    const TaskPlan child = world_.draw_child(agent.task);
    numbers.push_back(child.number);
    specs.push_back(child.spec);
  }
  const auto answer = worker_.queue().spawn(agent.run.lease, specs);
  world_.trace("{} run {} spawns {}: {}", agent.run.number, agent.run.run, specs.size(),
               answer ? "ok" : to_string(answer.error()));
  if (!answer || worker_.dead()) return;
  agent.has_children = true;
  world_.observe();
  for (std::size_t i = 0; i < numbers.size(); ++i)
    world_.checker().acknowledged(numbers[i], (*answer)[i], Replay::kImpossible);
}

void SimRuns::end(Agent& agent, decltype(ProcessEnd::how) how) {
  world_.trace("{} run {} ends", agent.run.number, agent.run.run);
  world_.checker().ended(agent.run.lease);
  // What comes of its end may be a failure or a cancel all the same.
  if (agent.behaviour.talks || std::holds_alternative<Exited>(how)) world_.checker().answered(agent.run);
  ended_.push_back(settlement(agent, {.how = std::move(how), .stopped = agent.stopped}));
  world_.scheduler().remove(agent.actor);
  std::erase_if(agents_, [&](const auto& other) { return other.get() == &agent; });
  worker_.wake_loop();
}

// What its worker knows at its end: of what a program says at its door, nothing.
RunReport SimRuns::last_report(const Agent& agent) const {
  if (agent.spending) {
    return agent.spending->at_door || agent.requests == 0 ? RunReport{} : used_by(*agent.spending, agent.requests);
  }
  return agent.behaviour.talks ? used_by(agent.run, 2) : RunReport{};
}

Settlement SimRuns::settlement(const Agent& agent, const ProcessEnd& end) const {
  Settlement item = plain_settlement(agent, end);
  if (item.report.usage) world_.checker().said_used(agent.run, *item.report.usage);
  auto* failure = std::get_if<Failure>(&item.end);
  const bool waits = agent.budget_stop && agent.budget_stop->on_breach != OnBreach::kFail;
  if (failure != nullptr && failure->error_class == ErrorClass::kBudgetExceeded && waits)
    failure->waits_at = agent.budget_stop->gate;
  return item;
}

Settlement SimRuns::plain_settlement(const Agent& agent, const ProcessEnd& end) const {
  const Behaviour& behaviour = agent.behaviour;
  const bool its_own = !end.stopped && std::holds_alternative<Exited>(end.how);
  if (its_own && behaviour.kind == Behaviour::Kind::kFail) {
    return {agent.run.lease,
            Failure{.error_class = behaviour.error_class,
                    .message = "as planned",
                    .retry_after = behaviour.retry_after,
                    .exit_code = 1},
            agent.spending ? last_report(agent) : used_by(agent.run, 2)};
  }
  ResultCapture out(1 << 20);
  out.feed(fmt::format("{{\"run\":{}}}\n", agent.run.run));
  const LastLine err;
  // Whoever gives way for an answer waits for its children as well: so the checker knows what each waits for.
  const bool asks = agent.asked && agent.asked->state == QuestionState::kOpen && !agent.task.at_most_once;
  const bool waits = asks || (behaviour.waits && agent.has_children);
  const LastWill will{.wait = waits ? std::optional(Suspend{}) : std::nullopt};
  return {agent.run.lease, with_will(exec_outcome(end, {agent.task, out, err, agents::OutputTail(), {}}, {}), will),
          last_report(agent)};
}

}  // namespace drover::sim
