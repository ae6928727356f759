// The agents of one simulated worker, each with its shim: what a worker's Runs are, in virtual time.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "sim/checker.h"
#include "sim/plan.h"
#include "sim/scheduler.h"
#include "worker/runners/exec.h"
#include "worker/runs.h"

namespace drover::sim {

class SimWorker;
class World;

class SimRuns final : public Runs {
 public:
  SimRuns(World& world, SimWorker& worker) : world_(world), worker_(worker) {}

  void start(ClaimedTask claimed, MonoTime expires_at) override;
  void lease_renewed(const Lease& lease, MonoTime expires_at) override;
  void stop(const Lease& lease, StopReason reason) override;
  std::vector<RunEnded> take_ended() override;

  // The worker is dead: every shim sees its pipe close and kills what it has.
  void die();
  // The shims stop too: until then nobody stops an agent.
  void freeze_shims(Millis until);
  // Of every run that this worker ever started.
  [[nodiscard]] const AgentRun* find_run(const Lease& lease) const;

 private:
  struct Agent {
    AgentRun run;
    Task task;
    Behaviour behaviour;
    ActorPtr actor;
    Millis expires_at{0};
    Millis ends_at{kNever};  // by itself, or because it was told to
    Millis times_out_at{kNever};
    Millis kill_at{kNever};
    Millis talks_at{kNever};
    Millis spawns_at{kNever};
    std::optional<StopCause> stopped;
    bool has_children = false;
    std::optional<Spending> spending;  // if there are budgets
    int requests = 0;                  // that it has made
    Millis requests_at{kNever};        // the next one
    std::optional<BudgetStop> budget_stop;
    std::optional<Question> asked;
  };

  void step(const std::shared_ptr<Agent>& agent);
  void supervise(Agent& agent);
  void ask_to_stop(Agent& agent, StopCause cause, Millis kill_at);
  void speak(Agent& agent);
  void request(Agent& agent);
  [[nodiscard]] RunReport last_report(const Agent& agent) const;
  void ask(Agent& agent);
  void spawn_children(Agent& agent);
  void end(Agent& agent, decltype(ProcessEnd::how) how);
  [[nodiscard]] Settlement settlement(const Agent& agent, const ProcessEnd& end) const;
  [[nodiscard]] Settlement plain_settlement(const Agent& agent, const ProcessEnd& end) const;
  [[nodiscard]] Millis next_step(const Agent& agent) const;
  [[nodiscard]] Agent* find(const Lease& lease);

  World& world_;
  SimWorker& worker_;
  std::vector<std::shared_ptr<Agent>> agents_;
  std::vector<RunEnded> ended_;
  std::map<std::string, AgentRun> runs_;  // by lease
  Millis shims_frozen_until_{0};
};

}  // namespace drover::sim
