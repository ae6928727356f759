#include "worker/workspace_reaper.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "base/try.h"
#include "net/wake.h"
#include "worker/agent_process.h"
#include "worker/process_run.h"
#include "workspace/step.h"

namespace drover {
namespace {

constexpr Millis kAllEvery{10 * 60'000};
// How soon after a run its end is looked for in the store, and how often.
constexpr Millis kRecentAfter{500};
constexpr int kRecentTriesMax = 20;
// More workspaces than this wait for the next time.
constexpr std::size_t kFatesMax = 10'000;
constexpr std::size_t kReapAnswerBytesMax = 16 << 20;
// A step that takes longer is ended; the next one goes on.
constexpr Millis kReapStepMax{60 * 60'000};
constexpr Millis kReapPoll{200};

// A task that this worker cannot see may wait for its next run, or may be long gone.
constexpr Millis kUnknownKept{30LL * 24 * 3'600'000};

using workspace::Fate;

Fate fate_of(const Task& task) {
  if (!is_terminal(task.state)) return Fate::kUnfinished;
  return task.state == TaskState::kCompleted ? Fate::kCompleted : Fate::kFailed;
}

// Reads what is there.
void read_into(std::string& text, const UniqueFd& from) {
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t size = ::read(from.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    const auto room = kReapAnswerBytesMax - std::min(text.size(), kReapAnswerBytesMax);
    text.append(buffer.data(), std::min(static_cast<std::size_t>(size), room));
  }
}

// Writes as much as there is room for. True when all is written, or nobody wants the rest.
bool write_from(std::string_view& text, const UniqueFd& to) {
  while (!text.empty()) {
    const ssize_t size = ::write(to.get(), text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno != EAGAIN;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

}  // namespace

WorkspaceReaper::WorkspaceReaper(TaskQueue& queue, const ProcessRunsOptions& options)
    : queue_(queue), options_(options) {
  const bool is_needed = !options.runners.repos.empty() ||
                         std::ranges::any_of(profiles(), [](const auto* one) { return one->workspace.is_wanted(); });
  if (!is_needed) return;
  thread_ = std::thread([this] {
    block_signals_in_this_thread();
    run();
  });
}

WorkspaceReaper::~WorkspaceReaper() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void WorkspaceReaper::run_ended(const Task& task, const End& end) {
  const RunnerProfile* profile = thread_.joinable() ? options_.runners.find(task.type) : nullptr;
  if (profile == nullptr || !has_workspace(*profile, task.id)) return;
  const std::scoped_lock lock(mutex_);
  recent_.emplace(task.id, EndedRun{profile, std::holds_alternative<Completion>(end)});
  changed_.notify_one();
}

bool WorkspaceReaper::has_workspace(const RunnerProfile& profile, const TaskId& task) const {
  std::error_code error;
  const auto root = root_of(profile);
  return root && std::filesystem::exists(fmt::format("{}/{}", *root, task.to_string()), error);
}

Result<std::string> WorkspaceReaper::root_of(const RunnerProfile& profile) const {
  const auto store = TRY(queue_.store_id());
  return workspace_root(profile.workspace, options_.state_dir, store);
}

bool WorkspaceReaper::serves(const Task& task) const {
  return std::ranges::any_of(options_.serves, [&](const Serve& serve) {
    return serve.queue == task.queue && serve.type.value_or(task.type) == task.type;
  });
}

std::vector<const RunnerProfile*> WorkspaceReaper::profiles() const {
  std::vector<const RunnerProfile*> all;
  if (options_.runners.for_all) all.push_back(&*options_.runners.for_all);
  for (const auto& [type, profile] : options_.runners.by_type) all.push_back(&profile);
  return all;
}

void WorkspaceReaper::run() {
  MonoTime all_at{};
  do {
    look_at_recent();
    if (system_clock().mono() < all_at) continue;
    look_at_all();
    measure();
    all_at = system_clock().mono() + kAllEvery;
  } while (wait());
}

bool WorkspaceReaper::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kAllEvery, [this] { return stopping_ || !recent_.empty(); });
  if (!stopping_ && !recent_.empty()) changed_.wait_for(lock, kRecentAfter, [this] { return stopping_; });
  return !stopping_;
}

void WorkspaceReaper::look_at_recent() {
  Recent recent;
  {
    const std::scoped_lock lock(mutex_);
    recent.swap(recent_);
  }
  std::map<const RunnerProfile*, Fates> due;
  for (const auto& [id, ended] : recent) {
    const auto task = queue_.get(id);
    // A worker's token may not let it see tasks that it does not hold any more.
    const bool is_hidden = !task && task.error().code == ErrorCode::kNotFound;
    if (task && is_terminal(task->state)) {
      due[ended.profile].emplace(id, fate_of(*task));
    } else if (is_hidden && ended.has_completed) {
      due[ended.profile].emplace(id, Fate::kCompleted);
    } else if (!is_hidden && (!task || task->state == TaskState::kRunning) && ended.tries < kRecentTriesMax) {
      const std::scoped_lock lock(mutex_);
      recent_.emplace(id, EndedRun{ended.profile, ended.has_completed, ended.tries + 1});
    }
  }
  for (const auto& [profile, fates] : due) {
    if (const auto root = root_of(*profile)) reap(*root, *profile, fates, Scope::kSome);
  }
}

void WorkspaceReaper::look_at_all() {
  for (const RunnerProfile* profile : profiles()) {
    const auto root = root_of(*profile);
    const auto tasks = root ? workspace::tasks_in(*root) : std::unexpected(root.error());
    if (!tasks) {
      log_warn("worker", "cannot look for old workspaces", {{"error", to_string(tasks.error())}});
      continue;
    }
    Fates fates;
    Fates unknown;
    for (const TaskId& id : *tasks) {
      if (fates.size() + unknown.size() == kFatesMax) break;
      const auto task = queue_.get(id);
      if (!task && task.error().code == ErrorCode::kNotFound) unknown.emplace(id, Fate::kFailed);
      if (task && (!serves(*task) || options_.runners.find(task->type) != profile)) continue;
      if (task) fates.emplace(id, fate_of(*task));
    }
    if (root_of(*profile) != root) continue;  // the server has another store now: these are not its tasks
    reap(*root, *profile, fates, Scope::kAll);
    RunnerProfile patient = *profile;
    patient.workspace.keep.failed = std::max(patient.workspace.keep.failed, kUnknownKept);
    reap(*root, patient, unknown, Scope::kSome);
  }
}

// Those of tasks that other workers serve count too: all that share a disk then report the same.
void WorkspaceReaper::measure() {
  std::set<std::string> roots;
  for (const RunnerProfile* profile : profiles()) {
    if (auto root = root_of(*profile)) roots.insert(*std::move(root));
  }
  std::int64_t bytes = 0;
  for (const std::string& root : roots) {
    for (const workspace::Workspace& one : workspace::list(root).value_or(std::vector<workspace::Workspace>{}))
      bytes += one.bytes;
  }
  workspace_bytes_ = bytes;
}

void WorkspaceReaper::reap(const std::string& root, const RunnerProfile& profile, const Fates& fates, Scope scope) {
  const WorkspaceKeep& keep = profile.workspace.keep;
  std::error_code error;
  if (!std::filesystem::exists(root, error)) return;
  json::Writer out;
  out.begin_object().key("root").string(root).key("completed_ms").number(keep.completed.count());
  out.key("failed_ms").number(keep.failed.count());
  out.key("bytes_max").number(scope == Scope::kAll ? keep.bytes_max : std::numeric_limits<std::int64_t>::max());
  const auto write = [&](std::string_view name, Fate wanted) {
    out.key(name).begin_array();
    for (const auto& [task, fate] : fates) {
      if (fate == wanted) out.string(task.to_string());
    }
    out.end_array();
  };
  write("unfinished", Fate::kUnfinished);
  write("completed", Fate::kCompleted);
  write("failed", Fate::kFailed);
  out.end_object();
  tell(run_step(std::move(out).take()));
}

// Its answer; empty if it was ended before it had one.
std::string WorkspaceReaper::run_step(const std::string& request) {
  std::vector<std::string> environment{worker_mark(options_.worker_id)};
  const std::vector<std::string> ours = this_process_environment();
  if (const auto path = path_in(ours); !path.empty()) environment.push_back(fmt::format("PATH={}", path));
  auto shim = start_shim({.shim_program = options_.shim_program,
                          .argv = {options_.shim_program, "workspace-step", "reap"},
                          .environment = std::move(environment),
                          .expires_at = system_clock().mono() + kReapStepMax,
                          .lease = kReapStepMax});
  if (!shim) {
    log_warn("worker", "cannot remove old workspaces", {{"error", to_string(shim.error())}});
    return {};
  }
  std::string answer;
  std::string complaints;
  std::string_view unwritten = request;
  while (true) {
    if (shim->in.is_open() && write_from(unwritten, shim->in)) shim->in.reset();
    std::array<pollfd, 4> ready{{{shim->pidfd.get(), POLLIN, 0},
                                 {shim->out.get(), POLLIN, 0},
                                 {shim->err.get(), POLLIN, 0},
                                 {shim->in.get(), POLLOUT, 0}}};
    ::poll(ready.data(), shim->in.is_open() ? ready.size() : ready.size() - 1, static_cast<int>(kReapPoll.count()));
    const bool has_gone = has_ended(*shim);
    read_into(answer, shim->out);
    read_into(complaints, shim->err);
    if (has_gone) break;
    const std::scoped_lock lock(mutex_);
    if (stopping_) shim->control.reset();  // the shim ends it
  }
  if (!complaints.empty()) log_warn("worker", "removing old workspaces printed errors", {{"complaint", complaints}});
  return answer;
}

void WorkspaceReaper::tell(const std::string& answer) {
  if (answer.empty()) return;
  workspace::Reaped reaped;
  if (!read_json(answer, reaped)) return log_warn("worker", "cannot remove old workspaces", {{"answer", answer}});
  for (const TaskId& task : reaped.removed) log_debug("worker", "removed a workspace", {{"task", task.to_string()}});
  for (const auto& [task, why] : reaped.kept) {
    if (std::exchange(told_[task], why) == why) continue;
    log_warn("worker", "an old workspace was not removed", {{"task", task.to_string()}, {"why", why}});
  }
}

}  // namespace drover
