// FaultStore: any store with faults in front of it, for tests.
//
// Faults are scripted per call ("the second apply from now is applied, but its answer is lost") or drawn with a seed.
// Safe from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "store/store.h"

namespace drover {

enum class StoreCall : std::uint8_t {
  kNow,
  kClocks,
  kRead,
  kFindRequest,
  kFindDedupe,
  kDependents,
  kChildren,
  kList,
  kRuns,
  kEvents,
  kLastEventSeq,
  kLog,
  kBacklog,
  kApply,
  kClaim,
  kRenew,
  kNote,
  kReadGates,
  kGates,
  kWakeGates,
  kStanding,
  kQueues,
  kLanes,
  kQueuesOf,
  kDue,
  kPastDeadline,
  kLapsed,
  kCascades,
  kNextWake,
  kExpire,
  kRegisterWorker,
  kUnregisterWorker,
  kDrainWorker,
  kWorkers,
  kForgetWorkers,
  kConfig,
  kPutConfig,
  kRestore,
  kRestoreEpochs,
  kDocument,
  kPutDocument,
  kFsck,
  kTryWrite,
  kState,
  kHear,
  kAcceptRegression,
};
inline constexpr std::size_t kStoreCallCount = static_cast<std::size_t>(StoreCall::kAcceptRegression) + 1;

struct StoreFault {
  enum class Kind : std::uint8_t {
    kFailBefore,  // the call is not made
    kLoseAnswer,  // the call is made, and its answer is lost: the caller cannot know
    kConflict,    // of apply: every group is answered with kConflict, nothing is written
  };
  Kind kind = Kind::kFailBefore;
  Error error{ErrorCode::kStoreUnavailable, "a fault of a test", "fault"};
};

class FaultStore final : public Store {
 public:
  // How likely each kind is, per call.
  struct Odds {
    double fail_before = 0;
    double lose_answer = 0;
    double conflict = 0;
  };

  // `inner` outlives it.
  explicit FaultStore(Store& inner) : inner_(inner) {}

  // The next `times` such calls, after `skip` that pass, meet the fault. Scripts for one call queue up.
  void script(StoreCall call, StoreFault fault, int times = 1, int skip = 0);
  // From now on calls without a script meet faults at random.
  void randomise(std::uint64_t seed, Odds odds);
  // No more faults.
  void heal();
  [[nodiscard]] int calls(StoreCall call) const;

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
  Result<StoreState> state() override;
  Result<StoreState> accept_regression() override;
  Status try_write() override;
  StoreMark seen() override { return inner_.seen(); }
  Result<bool> hear(const StoreMark& told) override;
  std::uint64_t changes() override { return inner_.changes(); }
  void wait_for_change(std::uint64_t seen, Millis timeout) override { inner_.wait_for_change(seen, timeout); }
  void wait_for_work(std::span<const Serve> serves, std::uint64_t seen, Millis timeout,
                     const std::stop_token& stop) override {
    inner_.wait_for_work(serves, seen, timeout, stop);
  }

 private:
  struct Script {
    StoreFault fault;
    int skip = 0;
    int times = 0;
  };

  [[nodiscard]] std::optional<StoreFault> next_fault(StoreCall call);
  [[nodiscard]] std::optional<StoreFault> scripted(std::vector<Script>& scripts);
  [[nodiscard]] std::optional<StoreFault> drawn(StoreCall call);
  template <class Call>
  [[nodiscard]] auto pass(StoreCall name, Call call) -> decltype(call());

  Store& inner_;
  mutable std::mutex mutex_;  // guards what follows
  std::array<std::vector<Script>, kStoreCallCount> scripts_;
  std::array<int, kStoreCallCount> calls_{};
  std::optional<SeededRng> rng_;
  Odds odds_;
};

}  // namespace drover
