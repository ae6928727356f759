#include "sim/fault_store.h"

#include "base/check.h"

namespace drover::sim {

template <class Call>
auto FaultStore::pass(Effect effect, Call call) -> decltype(call()) {
  if (auto open = gate_.before_call(effect); !open) return std::unexpected(open.error());
  auto answer = call();
  if (auto open = gate_.after_call(effect); !open) return std::unexpected(open.error());
  return answer;
}

// The clock needs no store.
Result<Time> FaultStore::now() {
  return inner_->now();
}

Result<StoreClocks> FaultStore::clocks() {
  return inner_->clocks();
}

Result<std::vector<std::optional<TaskRecord>>> FaultStore::read(std::span<const TaskId> ids, Parts parts) {
  return pass(Effect::kReads, [&] { return inner_->read(ids, parts); });
}
Result<std::optional<TaskId>> FaultStore::find_request(const std::string& owner, const std::string& request_id) {
  return pass(Effect::kReads, [&] { return inner_->find_request(owner, request_id); });
}
Result<DedupeMatches> FaultStore::find_dedupe(const std::string& owner, const std::string& type,
                                              const std::string& key) {
  return pass(Effect::kReads, [&] { return inner_->find_dedupe(owner, type, key); });
}
Result<std::vector<TaskRecord>> FaultStore::dependents(const TaskId& parent) {
  return pass(Effect::kReads, [&] { return inner_->dependents(parent); });
}
Result<std::vector<TaskRecord>> FaultStore::children(const TaskId& spawner) {
  return pass(Effect::kReads, [&] { return inner_->children(spawner); });
}
Result<RecordPage> FaultStore::list(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor,
                                    Parts parts) {
  return pass(Effect::kReads, [&] { return inner_->list(filter, limit, cursor, parts); });
}
Result<std::vector<RunSummary>> FaultStore::runs(const TaskId& id, int limit) {
  return pass(Effect::kReads, [&] { return inner_->runs(id, limit); });
}
Result<std::vector<Event>> FaultStore::events(std::int64_t after, int limit) {
  return pass(Effect::kReads, [&] { return inner_->events(after, limit); });
}
Result<std::int64_t> FaultStore::last_event_seq() {
  return pass(Effect::kReads, [&] { return inner_->last_event_seq(); });
}
Result<LogPage> FaultStore::log(const TaskId& id, std::int64_t after, int limit) {
  return pass(Effect::kReads, [&] { return inner_->log(id, after, limit); });
}
Result<Backlog> FaultStore::backlog(std::span<const Serve> serves) {
  return pass(Effect::kReads, [&] { return inner_->backlog(serves); });
}
Result<std::vector<Applied>> FaultStore::apply(std::span<const StepGroup> groups) {
  return pass(Effect::kWrites, [&] { return inner_->apply(groups); });
}
Result<Claimed> FaultStore::claim(const ClaimRequest& request, std::span<const LeaseId> lease_ids,
                                  const std::optional<ReservedSlots>& reserved) {
  return pass(Effect::kWrites, [&] { return inner_->claim(request, lease_ids, reserved); });
}
Result<Beat> FaultStore::renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) {
  return pass(Effect::kWrites, [&] { return inner_->renew(worker_id, leases, lease); });
}
Result<std::vector<bool>> FaultStore::note(std::span<const Note> notes) {
  return pass(Effect::kWrites, [&] { return inner_->note(notes); });
}
Result<std::vector<GateState>> FaultStore::read_gates(std::span<const std::string> names) {
  return pass(Effect::kReads, [&] { return inner_->read_gates(names); });
}
Result<std::vector<GateState>> FaultStore::gates() {
  return pass(Effect::kReads, [&] { return inner_->gates(); });
}
Result<int> FaultStore::wake_gates() {
  return pass(Effect::kWrites, [&] { return inner_->wake_gates(); });
}
Result<std::optional<Standing>> FaultStore::standing(const TaskId& id) {
  return pass(Effect::kReads, [&] { return inner_->standing(id); });
}
Result<std::vector<WaitingLane>> FaultStore::lanes(int limit) {
  return pass(Effect::kReads, [&] { return inner_->lanes(limit); });
}
Result<std::vector<QueueCounts>> FaultStore::queues_of(const std::string& owner) {
  return pass(Effect::kReads, [&] { return inner_->queues_of(owner); });
}

Result<std::vector<QueueCounts>> FaultStore::queues() {
  return pass(Effect::kReads, [&] { return inner_->queues(); });
}
Result<std::vector<TaskRecord>> FaultStore::due(int limit) {
  return pass(Effect::kReads, [&] { return inner_->due(limit); });
}
Result<std::vector<TaskRecord>> FaultStore::past_deadline(int limit) {
  return pass(Effect::kReads, [&] { return inner_->past_deadline(limit); });
}
Result<std::vector<TaskRecord>> FaultStore::lapsed(std::optional<Millis> silent_for, int limit) {
  return pass(Effect::kReads, [&] { return inner_->lapsed(silent_for, limit); });
}
Result<std::vector<TaskRecord>> FaultStore::cascades(int limit) {
  return pass(Effect::kReads, [&] { return inner_->cascades(limit); });
}
Result<std::optional<Millis>> FaultStore::next_wake() {
  return pass(Effect::kReads, [&] { return inner_->next_wake(); });
}
Result<int> FaultStore::expire(const Retention& retention, int limit) {
  return pass(Effect::kWrites, [&] { return inner_->expire(retention, limit); });
}
Status FaultStore::register_worker(const WorkerInfo& worker) {
  return pass(Effect::kWrites, [&] { return inner_->register_worker(worker); });
}
Status FaultStore::unregister_worker(const std::string& worker_id, const std::string& reason) {
  return pass(Effect::kWrites, [&] { return inner_->unregister_worker(worker_id, reason); });
}
Result<bool> FaultStore::drain_worker(const DrainOrder& order) {
  return pass(Effect::kWrites, [&] { return inner_->drain_worker(order); });
}
Result<std::vector<WorkerInfo>> FaultStore::workers() {
  return pass(Effect::kReads, [&] { return inner_->workers(); });
}
Result<std::optional<WorkerInfo>> FaultStore::worker(const std::string& worker_id) {
  return pass(Effect::kReads, [&] { return inner_->worker(worker_id); });
}
Result<std::vector<std::string>> FaultStore::forget_workers(Millis silent_for) {
  return pass(Effect::kWrites, [&] { return inner_->forget_workers(silent_for); });
}
Result<Config> FaultStore::config() {
  return pass(Effect::kReads, [&] { return inner_->config(); });
}
Result<bool> FaultStore::put_config(const JsonText& document, std::int64_t based_on_version,
                                    std::span<const GateStep> gates, const Weights& weights) {
  return pass(Effect::kWrites, [&] { return inner_->put_config(document, based_on_version, gates, weights); });
}
Status FaultStore::restore(std::span<const DumpedTask> tasks, std::span<const Event> events) {
  return pass(Effect::kWrites, [&] { return inner_->restore(tasks, events); });
}
Result<bool> FaultStore::restore_epochs(std::span<const Epoch> epochs) {
  return pass(Effect::kWrites, [&] { return inner_->restore_epochs(epochs); });
}

Result<StoredDocument> FaultStore::document(DocumentKind kind) {
  return pass(Effect::kReads, [&] { return inner_->document(kind); });
}
Result<bool> FaultStore::put_document(DocumentKind kind, const JsonText& text, std::int64_t based_on_version,
                                      std::span<const EventDraft> events) {
  return pass(Effect::kWrites, [&] { return inner_->put_document(kind, text, based_on_version, events); });
}
Result<std::vector<Finding>> FaultStore::fsck(FsckMode mode) {
  return pass(Effect::kReads, [&] { return inner_->fsck(mode); });
}
Status FaultStore::try_write() {
  return pass(Effect::kWrites, [&] { return inner_->try_write(); });
}
Result<StoreState> FaultStore::state() {
  return pass(Effect::kReads, [&] { return inner_->state(); });
}
Result<bool> FaultStore::hear(const StoreMark& told) {
  return pass(Effect::kReads, [&] { return inner_->hear(told); });
}
Result<StoreState> FaultStore::accept_regression() {
  return pass(Effect::kWrites, [&] { return inner_->accept_regression(); });
}

void FaultStore::wait_for_change(std::uint64_t /*seen*/, Millis /*timeout*/) {
  CHECK_MSG(false, "nothing waits in a simulation: actors are woken");
}
void FaultStore::wait_for_work(std::span<const Serve> /*serves*/, std::uint64_t seen, Millis timeout,
                               const std::stop_token& /*stop*/) {
  wait_for_change(seen, timeout);
}

}  // namespace drover::sim
