#include "worker/process_runs.h"

#include <poll.h>

#include <algorithm>
#include <utility>

namespace drover {
namespace {

// Of each kind. A run makes one call of a kind at a time.
constexpr std::size_t kCallThreadsMax = 64;
constexpr Millis kPruneEvery{3'600'000};
constexpr Millis kTickMax{60'000};
constexpr Millis kKillRestMax{5'000};

}  // namespace

ProcessRuns::ProcessRuns(TaskQueue& queue, ProcessRunsOptions options, std::function<void()> on_ended)
    : queue_(queue),
      options_(std::move(options)),
      environment_(this_process_environment()),
      on_ended_(std::move(on_ended)),
      on_started_([this](const std::string& type) {
        if (troubles_.started(type, system_clock().mono())) on_ended_();
      }),
      undertaker_(options_.shim_program, worker_mark(options_.worker_id)),
      log_calls_(kCallThreadsMax),
      door_calls_(kCallThreadsMax),
      reaper_(queue_, options_) {
  become_subreaper();
  thread_ = std::thread([this] { run(); });
}

ProcessRuns::~ProcessRuns() {
  stopping_ = true;
  loop_.post([] {});
  thread_.join();
  kill_rest();
}

void ProcessRuns::start(ClaimedTask claimed, MonoTime expires_at) {
  troubles_.trying(claimed.task.type, system_clock().mono());
  loop_.post([this, claimed = std::move(claimed), expires_at]() mutable {
    const ProcessRun::Host host{queue_,    loop_,       door_bytes_, options_,   environment_,
                                troubles_, on_started_, log_calls_,  door_calls_};
    runs_.push_back(std::make_shared<ProcessRun>(host, std::move(claimed), expires_at));
    runs_.back()->start(system_clock().mono());
  });
}

void ProcessRuns::lease_renewed(const Lease& lease, MonoTime expires_at) {
  loop_.post([this, lease, expires_at] {
    if (ProcessRun* run = find(lease)) run->lease_renewed(expires_at);
  });
}

void ProcessRuns::stop(const Lease& lease, StopReason reason) {
  loop_.post([this, lease, reason] {
    if (ProcessRun* run = find(lease)) run->stop(reason, system_clock().mono());
  });
}

std::vector<RunEnded> ProcessRuns::take_ended() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(ended_, {});
}

void ProcessRuns::run() {
  block_signals_in_this_thread();  // SIGPIPE among them
  while (!stopping_) {
    loop_.run_once(next_tick_ - system_clock().mono());
    tick();
    collect_ended();
  }
}

void ProcessRuns::tick() {
  const MonoTime now = system_clock().mono();
  if (now >= next_prune_) {
    prune_run_files(options_.state_dir,
                    {.wall = system_clock().wall(), .steady = now.since_origin, .boot = system_clock().boot_id()}, {});
    next_prune_ = now + kPruneEvery;
  }
  next_tick_ = now + kTickMax;
  for (const auto& run : runs_) next_tick_ = std::min(next_tick_, run->tick(now));
}

std::vector<Unable> ProcessRuns::unable() {
  return troubles_.look(system_clock().mono(),
                        [this](const std::optional<std::string>& type) { return has_program(type); });
}

bool ProcessRuns::has_program(const std::optional<std::string>& type) const {
  const RunnerProfile* profile = options_.runners.find(type.value_or(""));
  return profile != nullptr && !missing_program(*profile, path_in(environment_));
}

void ProcessRuns::collect_ended() {
  std::vector<RunEnded> ended;
  for (const auto& run : runs_) {
    if (!run->is_over()) continue;
    ended.push_back(run->end());
    reaper_.run_ended(run->task(), ended.back().end);
  }
  if (ended.empty()) return;
  std::erase_if(runs_, [](const auto& run) { return run->is_over(); });
  {
    const std::scoped_lock lock(mutex_);
    std::ranges::move(ended, std::back_inserter(ended_));
  }
  on_ended_();
}

ProcessRun* ProcessRuns::find(const Lease& lease) {
  const auto found = std::ranges::find(runs_, lease, [](const auto& run) -> const Lease& { return run->lease(); });
  return found == runs_.end() ? nullptr : found->get();
}

// On this thread, after the loop's has ended.
void ProcessRuns::kill_rest() {
  for (const auto& run : runs_) run->abandon();
  const MonoTime give_up_at = system_clock().mono() + kKillRestMax;
  for (const auto& run : runs_) {
    if (run->shim() == nullptr) continue;
    while (!has_ended(*run->shim())) {
      const Millis left = give_up_at - system_clock().mono();
      if (left <= Millis{0}) return;
      pollfd wait{run->shim()->pidfd.get(), POLLIN, 0};
      ::poll(&wait, 1, static_cast<int>(left.count()));
    }
  }
}

}  // namespace drover
