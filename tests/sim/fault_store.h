// A store through which a simulated process sees the real one: every call passes a gate before and after.
#pragma once

#include <memory>

#include "store/store.h"

namespace drover::sim {

class StoreGate {
 public:
  enum class Effect : std::uint8_t { kReads, kWrites };

  virtual ~StoreGate() = default;
  // An error: the call is not made. It may let others have their turn.
  [[nodiscard]] virtual Status before_call(Effect effect) = 0;
  // An error: the call was made, and its answer is lost.
  [[nodiscard]] virtual Status after_call(Effect effect) = 0;
  // What TaskQueue::changes() is to say.
  [[nodiscard]] virtual std::uint64_t changes_seen() = 0;
};

class FaultStore final : public Store {
 public:
  explicit FaultStore(StoreGate& gate) : gate_(gate) {}
  // The store behind the gate; outlives its use.
  void connect(Store* inner) { inner_ = inner; }

  Result<Time> now() override;
  Result<StoreClocks> clocks() override;
  Result<std::vector<std::optional<TaskRecord>>> read(std::span<const TaskId> ids, Parts parts) override;
  Result<std::optional<TaskId>> find_request(const std::string& owner, const std::string& request_id) override;
  Result<DedupeMatches> find_dedupe(const std::string& owner, const std::string& type, const std::string& key) override;
  Result<std::vector<TaskRecord>> dependents(const TaskId& parent) override;
  Result<std::vector<TaskRecord>> children(const TaskId& spawner) override;
  Result<RecordPage> list(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor,
                          Parts parts) override;
  Result<std::vector<RunSummary>> runs(const TaskId& id, int limit) override;
  Result<std::vector<Event>> events(std::int64_t after, int limit) override;
  Result<std::int64_t> last_event_seq() override;
  Result<LogPage> log(const TaskId& id, std::int64_t after, int limit) override;
  Result<Backlog> backlog(std::span<const Serve> serves) override;
  Result<std::vector<Applied>> apply(std::span<const StepGroup> groups) override;
  Result<Claimed> claim(const ClaimRequest& request, std::span<const LeaseId> lease_ids,
                        const std::optional<ReservedSlots>& reserved) override;
  Result<Beat> renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) override;
  Result<std::vector<bool>> note(std::span<const Note> notes) override;
  Result<std::vector<GateState>> read_gates(std::span<const std::string> names) override;
  Result<std::vector<GateState>> gates() override;
  Result<int> wake_gates() override;
  Result<std::optional<Standing>> standing(const TaskId& id) override;
  Result<std::vector<QueueCounts>> queues() override;
  Result<std::vector<WaitingLane>> lanes(int limit) override;
  Result<std::vector<QueueCounts>> queues_of(const std::string& owner) override;
  Result<std::vector<TaskRecord>> due(int limit) override;
  Result<std::vector<TaskRecord>> past_deadline(int limit) override;
  Result<std::vector<TaskRecord>> lapsed(std::optional<Millis> silent_for, int limit) override;
  Result<std::vector<TaskRecord>> cascades(int limit) override;
  Result<std::optional<Millis>> next_wake() override;
  Result<int> expire(const Retention& retention, int limit) override;
  Status register_worker(const WorkerInfo& worker) override;
  Status unregister_worker(const std::string& worker_id, const std::string& reason) override;
  Result<bool> drain_worker(const DrainOrder& order) override;
  Result<std::vector<WorkerInfo>> workers() override;
  Result<std::optional<WorkerInfo>> worker(const std::string& worker_id) override;
  Result<std::vector<std::string>> forget_workers(Millis silent_for) override;
  Result<Config> config() override;
  Result<bool> put_config(const JsonText& document, std::int64_t based_on_version, std::span<const GateStep> gates,
                          const Weights& weights) override;
  Status restore(std::span<const DumpedTask> tasks, std::span<const Event> events) override;
  Result<bool> restore_epochs(std::span<const Epoch> epochs) override;
  Result<StoredDocument> document(DocumentKind kind) override;
  Result<bool> put_document(DocumentKind kind, const JsonText& text, std::int64_t based_on_version,
                            std::span<const EventDraft> events) override;
  Result<std::vector<Finding>> fsck(FsckMode mode) override;
  Status try_write() override;
  Result<StoreState> state() override;
  StoreMark seen() override { return inner_->seen(); }
  Result<bool> hear(const StoreMark& told) override;
  Result<StoreState> accept_regression() override;
  std::uint64_t changes() override { return gate_.changes_seen(); }
  void wait_for_change(std::uint64_t seen, Millis timeout) override;
  void wait_for_work(std::span<const Serve> serves, std::uint64_t seen, Millis timeout,
                     const std::stop_token& stop) override;

 private:
  using Effect = StoreGate::Effect;

  template <class Call>
  auto pass(Effect effect, Call call) -> decltype(call());

  StoreGate& gate_;
  Store* inner_ = nullptr;
};

}  // namespace drover::sim
