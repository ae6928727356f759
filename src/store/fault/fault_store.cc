#include "store/fault/fault_store.h"

#include "base/check.h"

namespace drover {

void FaultStore::script(StoreCall call, StoreFault fault, int times, int skip) {
  CHECK(fault.kind != StoreFault::Kind::kConflict || call == StoreCall::kApply);
  const std::lock_guard lock(mutex_);
  scripts_[static_cast<std::size_t>(call)].push_back({std::move(fault), skip, times});
}

void FaultStore::randomise(std::uint64_t seed, Odds odds) {
  const std::lock_guard lock(mutex_);
  rng_.emplace(seed);
  odds_ = odds;
}

void FaultStore::heal() {
  const std::lock_guard lock(mutex_);
  for (std::vector<Script>& scripts : scripts_) scripts.clear();
  rng_.reset();
}

int FaultStore::calls(StoreCall call) const {
  const std::lock_guard lock(mutex_);
  return calls_[static_cast<std::size_t>(call)];
}

std::optional<StoreFault> FaultStore::next_fault(StoreCall call) {
  const std::lock_guard lock(mutex_);
  ++calls_[static_cast<std::size_t>(call)];
  std::vector<Script>& scripts = scripts_[static_cast<std::size_t>(call)];
  return scripts.empty() ? drawn(call) : scripted(scripts);
}

std::optional<StoreFault> FaultStore::scripted(std::vector<Script>& scripts) {
  Script& script = scripts.front();
  if (script.skip > 0) {
    --script.skip;
    return std::nullopt;
  }
  StoreFault fault = script.fault;
  if (--script.times <= 0) scripts.erase(scripts.begin());
  return fault;
}

std::optional<StoreFault> FaultStore::drawn(StoreCall call) {
  if (!rng_) return std::nullopt;
  double draw = rng_->unit();
  const auto falls_within = [&](double share) {
    draw -= share;
    return draw < 0;
  };
  if (falls_within(odds_.fail_before)) return StoreFault{StoreFault::Kind::kFailBefore};
  if (falls_within(odds_.lose_answer)) return StoreFault{StoreFault::Kind::kLoseAnswer};
  if (call == StoreCall::kApply && falls_within(odds_.conflict)) return StoreFault{StoreFault::Kind::kConflict};
  return std::nullopt;
}

template <class Call>
auto FaultStore::pass(StoreCall name, Call call) -> decltype(call()) {
  const std::optional<StoreFault> fault = next_fault(name);
  if (!fault) return call();
  if (fault->kind == StoreFault::Kind::kLoseAnswer) {
    // The caller never learns what it was.
    static_cast<void>(call());
  }
  return std::unexpected(fault->error);
}

Result<Time> FaultStore::now() {
  return pass(StoreCall::kNow, [&] { return inner_.now(); });
}

Result<StoreClocks> FaultStore::clocks() {
  return pass(StoreCall::kClocks, [&] { return inner_.clocks(); });
}

Result<std::vector<std::optional<TaskRecord>>> FaultStore::read(std::span<const TaskId> ids, Parts parts) {
  return pass(StoreCall::kRead, [&] { return inner_.read(ids, parts); });
}

Result<std::optional<TaskId>> FaultStore::find_request(const std::string& owner, const std::string& request_id) {
  return pass(StoreCall::kFindRequest, [&] { return inner_.find_request(owner, request_id); });
}

Result<DedupeMatches> FaultStore::find_dedupe(const std::string& owner, const std::string& type,
                                              const std::string& key) {
  return pass(StoreCall::kFindDedupe, [&] { return inner_.find_dedupe(owner, type, key); });
}

Result<std::vector<TaskRecord>> FaultStore::dependents(const TaskId& parent) {
  return pass(StoreCall::kDependents, [&] { return inner_.dependents(parent); });
}

Result<std::vector<TaskRecord>> FaultStore::children(const TaskId& spawner) {
  return pass(StoreCall::kChildren, [&] { return inner_.children(spawner); });
}

Result<RecordPage> FaultStore::list(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor,
                                    Parts parts) {
  return pass(StoreCall::kList, [&] { return inner_.list(filter, limit, cursor, parts); });
}

Result<std::vector<RunSummary>> FaultStore::runs(const TaskId& id, int limit) {
  return pass(StoreCall::kRuns, [&] { return inner_.runs(id, limit); });
}

Result<std::vector<Event>> FaultStore::events(std::int64_t after, int limit) {
  return pass(StoreCall::kEvents, [&] { return inner_.events(after, limit); });
}

Result<std::int64_t> FaultStore::last_event_seq() {
  return pass(StoreCall::kLastEventSeq, [&] { return inner_.last_event_seq(); });
}

Result<LogPage> FaultStore::log(const TaskId& id, std::int64_t after, int limit) {
  return pass(StoreCall::kLog, [&] { return inner_.log(id, after, limit); });
}

Result<Backlog> FaultStore::backlog(std::span<const Serve> serves) {
  return pass(StoreCall::kBacklog, [&] { return inner_.backlog(serves); });
}

Result<std::vector<Applied>> FaultStore::apply(std::span<const StepGroup> groups) {
  const std::optional<StoreFault> fault = next_fault(StoreCall::kApply);
  if (!fault) return inner_.apply(groups);
  switch (fault->kind) {
    case StoreFault::Kind::kFailBefore:
      break;
    case StoreFault::Kind::kLoseAnswer:
      static_cast<void>(inner_.apply(groups));
      break;
    case StoreFault::Kind::kConflict:
      return std::vector(groups.size(), Applied::kConflict);
  }
  return std::unexpected(fault->error);
}

Result<Claimed> FaultStore::claim(const ClaimRequest& request, std::span<const LeaseId> lease_ids,
                                  const std::optional<ReservedSlots>& reserved) {
  return pass(StoreCall::kClaim, [&] { return inner_.claim(request, lease_ids, reserved); });
}

Result<Beat> FaultStore::renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) {
  return pass(StoreCall::kRenew, [&] { return inner_.renew(worker_id, leases, lease); });
}

Result<std::vector<bool>> FaultStore::note(std::span<const Note> notes) {
  return pass(StoreCall::kNote, [&] { return inner_.note(notes); });
}

Result<std::vector<GateState>> FaultStore::read_gates(std::span<const std::string> names) {
  return pass(StoreCall::kReadGates, [&] { return inner_.read_gates(names); });
}

Result<std::vector<GateState>> FaultStore::gates() {
  return pass(StoreCall::kGates, [&] { return inner_.gates(); });
}

Result<int> FaultStore::wake_gates() {
  return pass(StoreCall::kWakeGates, [&] { return inner_.wake_gates(); });
}

Result<std::optional<Standing>> FaultStore::standing(const TaskId& id) {
  return pass(StoreCall::kStanding, [&] { return inner_.standing(id); });
}

Result<std::vector<WaitingLane>> FaultStore::lanes(int limit) {
  return pass(StoreCall::kLanes, [&] { return inner_.lanes(limit); });
}

Result<std::vector<QueueCounts>> FaultStore::queues_of(const std::string& owner) {
  return pass(StoreCall::kQueuesOf, [&] { return inner_.queues_of(owner); });
}

Result<std::vector<QueueCounts>> FaultStore::queues() {
  return pass(StoreCall::kQueues, [&] { return inner_.queues(); });
}

Result<std::vector<TaskRecord>> FaultStore::due(int limit) {
  return pass(StoreCall::kDue, [&] { return inner_.due(limit); });
}

Result<std::vector<TaskRecord>> FaultStore::past_deadline(int limit) {
  return pass(StoreCall::kPastDeadline, [&] { return inner_.past_deadline(limit); });
}

Result<std::vector<TaskRecord>> FaultStore::lapsed(std::optional<Millis> silent_for, int limit) {
  return pass(StoreCall::kLapsed, [&] { return inner_.lapsed(silent_for, limit); });
}

Result<std::vector<TaskRecord>> FaultStore::cascades(int limit) {
  return pass(StoreCall::kCascades, [&] { return inner_.cascades(limit); });
}

Result<std::optional<Millis>> FaultStore::next_wake() {
  return pass(StoreCall::kNextWake, [&] { return inner_.next_wake(); });
}

Result<int> FaultStore::expire(const Retention& retention, int limit) {
  return pass(StoreCall::kExpire, [&] { return inner_.expire(retention, limit); });
}

Status FaultStore::register_worker(const WorkerInfo& worker) {
  return pass(StoreCall::kRegisterWorker, [&] { return inner_.register_worker(worker); });
}

Status FaultStore::unregister_worker(const std::string& worker_id, const std::string& reason) {
  return pass(StoreCall::kUnregisterWorker, [&] { return inner_.unregister_worker(worker_id, reason); });
}

Result<bool> FaultStore::drain_worker(const DrainOrder& order) {
  return pass(StoreCall::kDrainWorker, [&] { return inner_.drain_worker(order); });
}

Result<std::vector<WorkerInfo>> FaultStore::workers() {
  return pass(StoreCall::kWorkers, [&] { return inner_.workers(); });
}

Result<std::optional<WorkerInfo>> FaultStore::worker(const std::string& worker_id) {
  return pass(StoreCall::kWorkers, [&] { return inner_.worker(worker_id); });
}

Result<std::vector<std::string>> FaultStore::forget_workers(Millis silent_for) {
  return pass(StoreCall::kForgetWorkers, [&] { return inner_.forget_workers(silent_for); });
}

Result<Config> FaultStore::config() {
  return pass(StoreCall::kConfig, [&] { return inner_.config(); });
}

Result<bool> FaultStore::put_config(const JsonText& document, std::int64_t based_on_version,
                                    std::span<const GateStep> gates, const Weights& weights) {
  return pass(StoreCall::kPutConfig, [&] { return inner_.put_config(document, based_on_version, gates, weights); });
}

Status FaultStore::restore(std::span<const DumpedTask> tasks, std::span<const Event> events) {
  return pass(StoreCall::kRestore, [&] { return inner_.restore(tasks, events); });
}

Result<bool> FaultStore::restore_epochs(std::span<const Epoch> epochs) {
  return pass(StoreCall::kRestoreEpochs, [&] { return inner_.restore_epochs(epochs); });
}

Result<StoredDocument> FaultStore::document(DocumentKind kind) {
  return pass(StoreCall::kDocument, [&] { return inner_.document(kind); });
}

Result<bool> FaultStore::put_document(DocumentKind kind, const JsonText& text, std::int64_t based_on_version,
                                      std::span<const EventDraft> events) {
  return pass(StoreCall::kPutDocument, [&] { return inner_.put_document(kind, text, based_on_version, events); });
}

Result<std::vector<Finding>> FaultStore::fsck(FsckMode mode) {
  return pass(StoreCall::kFsck, [&] { return inner_.fsck(mode); });
}

Status FaultStore::try_write() {
  return pass(StoreCall::kTryWrite, [&] { return inner_.try_write(); });
}

Result<StoreState> FaultStore::state() {
  return pass(StoreCall::kState, [&] { return inner_.state(); });
}

Result<bool> FaultStore::hear(const StoreMark& told) {
  return pass(StoreCall::kHear, [&] { return inner_.hear(told); });
}

Result<StoreState> FaultStore::accept_regression() {
  return pass(StoreCall::kAcceptRegression, [&] { return inner_.accept_regression(); });
}

}  // namespace drover
