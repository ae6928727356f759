// GatedStore: any store behind a gate that every call passes. What derives from it says what the gate does, and
// overrides only the calls that it changes. It offers neither standing claims nor turns of sweepers; stores may lack
// both.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/try.h"
#include "store/store.h"

namespace drover {

// First those that read.
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
  kLastTaskSeq,
  kLastEventSeq,
  kLog,
  kBacklog,
  kLedger,
  kQuestions,
  kReadGates,
  kGates,
  kGatesFrom,
  kLanePosition,
  kQueues,
  kLanes,
  kQueuesOf,
  kDue,
  kPastDeadline,
  kLapsed,
  kCascades,
  kNextWake,
  kWorkers,
  kWorker,
  kConfig,
  kDocument,
  kReadConversation,
  kFsck,
  kState,
  kHear,
  kApply,
  kClaim,
  kRenew,
  kNote,
  kWakeGates,
  kExpire,
  kRegisterWorker,
  kUnregisterWorker,
  kDrainWorker,
  kForgetWorkers,
  kPutConfig,
  kRestore,
  kRestoreConfig,
  kRestoreEpochs,
  kPutDocument,
  kPutConversation,
  kTryWrite,
  kAcceptRegression,
};
inline constexpr std::size_t kStoreCallCount = static_cast<std::size_t>(StoreCall::kAcceptRegression) + 1;

[[nodiscard]] constexpr bool writes(StoreCall call) {
  return call >= StoreCall::kApply;
}

class GatedStore : public Store {
 public:
  Result<Time> now() override { return pass(StoreCall::kNow, &Store::now); }
  Result<StoreClocks> clocks() override { return pass(StoreCall::kClocks, &Store::clocks); }
  Result<std::vector<std::optional<TaskRecord>>> read(std::span<const TaskId> ids, Parts parts) override {
    return pass(StoreCall::kRead, &Store::read, ids, parts);
  }
  Result<std::optional<TaskId>> find_request(const std::string& owner, const std::string& request_id) override {
    return pass(StoreCall::kFindRequest, &Store::find_request, owner, request_id);
  }
  Result<DedupeMatches> find_dedupe(const std::string& owner, const std::string& type,
                                    const std::string& key) override {
    return pass(StoreCall::kFindDedupe, &Store::find_dedupe, owner, type, key);
  }
  Result<std::vector<TaskRecord>> dependents(const TaskId& parent) override {
    return pass(StoreCall::kDependents, &Store::dependents, parent);
  }
  Result<std::vector<TaskRecord>> children(const TaskId& spawner) override {
    return pass(StoreCall::kChildren, &Store::children, spawner);
  }
  Result<RecordPage> list(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor,
                          Parts parts) override {
    return pass(StoreCall::kList, &Store::list, filter, limit, cursor, parts);
  }
  Result<std::vector<RunSummary>> runs(const TaskId& id, int limit) override {
    return pass(StoreCall::kRuns, &Store::runs, id, limit);
  }
  Result<std::vector<Event>> events(std::int64_t after, int limit) override {
    return pass(StoreCall::kEvents, &Store::events, after, limit);
  }
  Result<std::int64_t> last_task_seq() override { return pass(StoreCall::kLastTaskSeq, &Store::last_task_seq); }
  Result<std::int64_t> last_event_seq() override { return pass(StoreCall::kLastEventSeq, &Store::last_event_seq); }
  using Store::log;
  Result<LogPage> log(const TaskId& id, const LogQuery& query) override {
    using Log = Result<LogPage> (Store::*)(const TaskId&, const LogQuery&);
    return pass(StoreCall::kLog, static_cast<Log>(&Store::log), id, query);
  }
  Result<Backlog> backlog(std::span<const Serve> serves) override {
    return pass(StoreCall::kBacklog, &Store::backlog, serves);
  }
  Result<std::vector<std::string>> ledger_days() override { return pass(StoreCall::kLedger, &Store::ledger_days); }
  Result<std::vector<SpendEntry>> spend() override { return pass(StoreCall::kLedger, &Store::spend); }
  Result<std::vector<LedgerEntry>> ledger(const std::string& day) override {
    return pass(StoreCall::kLedger, &Store::ledger, day);
  }
  Result<std::vector<std::optional<QuestionRecord>>> read_questions(std::span<const QuestionId> ids) override {
    return pass(StoreCall::kQuestions, &Store::read_questions, ids);
  }
  Result<std::vector<QuestionRecord>> questions_of(const TaskId& task) override {
    return pass(StoreCall::kQuestions, &Store::questions_of, task);
  }
  Result<QuestionPage> list_questions(const QuestionFilter& filter, int limit,
                                      const std::optional<QuestionId>& before) override {
    return pass(StoreCall::kQuestions, &Store::list_questions, filter, limit, before);
  }
  Result<std::vector<QuestionRecord>> open_questions(const std::optional<QuestionId>& after, int limit) override {
    return pass(StoreCall::kQuestions, &Store::open_questions, after, limit);
  }
  Result<std::array<std::int64_t, kQuestionStateCount>> count_questions() override {
    return pass(StoreCall::kQuestions, &Store::count_questions);
  }
  Result<std::int64_t> count_answer_waits(const std::optional<std::string>& owner) override {
    return pass(StoreCall::kQuestions, &Store::count_answer_waits, owner);
  }
  Result<std::vector<QuestionRecord>> due_questions(int limit) override {
    return pass(StoreCall::kQuestions, &Store::due_questions, limit);
  }
  Result<std::vector<Applied>> apply(std::span<const StepGroup> groups) override {
    return pass(StoreCall::kApply, &Store::apply, groups);
  }
  Result<Claimed> claim(const ClaimRequest& request, std::span<const LeaseId> lease_ids,
                        const std::optional<ReservedSlots>& reserved) override {
    return pass(StoreCall::kClaim, &Store::claim, request, lease_ids, reserved);
  }
  Result<Beat> renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) override {
    return pass(StoreCall::kRenew, &Store::renew, worker_id, leases, lease);
  }
  Result<std::vector<bool>> note(std::span<const Note> notes) override {
    return pass(StoreCall::kNote, &Store::note, notes);
  }
  Result<std::vector<GateState>> gates_from(const std::string& prefix, const std::string& after, int limit) override {
    return pass(StoreCall::kGatesFrom, &Store::gates_from, prefix, after, limit);
  }
  Result<std::vector<GateState>> read_gates(std::span<const std::string> names) override {
    return pass(StoreCall::kReadGates, &Store::read_gates, names);
  }
  Result<std::vector<GateState>> gates() override { return pass(StoreCall::kGates, &Store::gates); }
  Result<int> wake_gates() override { return pass(StoreCall::kWakeGates, &Store::wake_gates); }
  Result<std::optional<LanePosition>> lane_position(const TaskId& id) override {
    return pass(StoreCall::kLanePosition, &Store::lane_position, id);
  }
  Result<std::vector<WaitingLane>> lanes(int limit) override { return pass(StoreCall::kLanes, &Store::lanes, limit); }
  Result<std::vector<QueueCounts>> queues() override { return pass(StoreCall::kQueues, &Store::queues); }
  Result<std::vector<QueueCounts>> queues_of(const std::string& owner) override {
    return pass(StoreCall::kQueuesOf, &Store::queues_of, owner);
  }
  Result<std::vector<TaskRecord>> due(int limit) override { return pass(StoreCall::kDue, &Store::due, limit); }
  Result<std::vector<TaskRecord>> past_deadline(int limit) override {
    return pass(StoreCall::kPastDeadline, &Store::past_deadline, limit);
  }
  Result<std::vector<TaskRecord>> lapsed(std::optional<Millis> silent_for, int limit) override {
    return pass(StoreCall::kLapsed, &Store::lapsed, silent_for, limit);
  }
  Result<std::vector<TaskRecord>> cascades(int limit) override {
    return pass(StoreCall::kCascades, &Store::cascades, limit);
  }
  Result<std::optional<Millis>> next_wake() override { return pass(StoreCall::kNextWake, &Store::next_wake); }
  Result<int> expire(const Retention& retention, int limit) override {
    return pass(StoreCall::kExpire, &Store::expire, retention, limit);
  }
  Status register_worker(const WorkerInfo& worker) override {
    return pass(StoreCall::kRegisterWorker, &Store::register_worker, worker);
  }
  Status unregister_worker(const std::string& worker_id, const std::string& reason) override {
    return pass(StoreCall::kUnregisterWorker, &Store::unregister_worker, worker_id, reason);
  }
  Result<bool> drain_worker(const DrainOrder& order) override {
    return pass(StoreCall::kDrainWorker, &Store::drain_worker, order);
  }
  Result<std::vector<WorkerInfo>> workers() override { return pass(StoreCall::kWorkers, &Store::workers); }
  Result<std::optional<WorkerInfo>> worker(const std::string& worker_id) override {
    return pass(StoreCall::kWorker, &Store::worker, worker_id);
  }
  Result<std::vector<std::string>> forget_workers(Millis silent_for) override {
    return pass(StoreCall::kForgetWorkers, &Store::forget_workers, silent_for);
  }
  Result<Config> config() override { return pass(StoreCall::kConfig, &Store::config); }
  Result<std::vector<ConfigVersion>> config_versions(int limit) override {
    return pass(StoreCall::kConfig, &Store::config_versions, limit);
  }
  Result<std::optional<JsonText>> config_at(std::int64_t version) override {
    return pass(StoreCall::kConfig, &Store::config_at, version);
  }
  Result<bool> put_config(const JsonText& document, std::int64_t based_on_version, std::span<const GateStep> gates,
                          const Weights& weights) override {
    return pass(StoreCall::kPutConfig, &Store::put_config, document, based_on_version, gates, weights);
  }
  Status restore(std::span<const DumpedTask> tasks, std::span<const Event> events, std::span<const LedgerEntry> ledger,
                 std::span<const SpendEntry> spend) override {
    return pass(StoreCall::kRestore, &Store::restore, tasks, events, ledger, spend);
  }
  Result<bool> restore_epochs(std::span<const Epoch> epochs) override {
    return pass(StoreCall::kRestoreEpochs, &Store::restore_epochs, epochs);
  }
  Status restore_config(std::span<const DumpedPolicy> versions) override {
    return pass(StoreCall::kRestoreConfig, &Store::restore_config, versions);
  }
  Result<StoredDocument> document(DocumentKind kind) override {
    return pass(StoreCall::kDocument, &Store::document, kind);
  }
  Result<bool> put_document(DocumentKind kind, const JsonText& text, std::int64_t based_on_version,
                            std::span<const EventDraft> events) override {
    return pass(StoreCall::kPutDocument, &Store::put_document, kind, text, based_on_version, events);
  }
  Result<std::optional<StoredConversation>> read_conversation(const ConversationName& name) override {
    return pass_to<ConversationStore>(StoreCall::kReadConversation, &ConversationStore::read_conversation, name);
  }
  Result<std::vector<std::optional<JsonText>>> conversation_bodies(const ConversationName& name,
                                                                   std::span<const std::int64_t> numbers) override {
    return pass_to<ConversationStore>(StoreCall::kReadConversation, &ConversationStore::conversation_bodies, name,
                                      numbers);
  }
  Result<std::vector<StoredConversation>> list_conversations(const std::optional<std::string>& owner,
                                                             const ConversationName& after, int limit) override {
    return pass_to<ConversationStore>(StoreCall::kReadConversation, &ConversationStore::list_conversations, owner,
                                      after, limit);
  }
  Result<ConversationApplied> put_conversation(const ConversationStep& step) override {
    return pass_to<ConversationStore>(StoreCall::kPutConversation, &ConversationStore::put_conversation, step);
  }
  Result<std::vector<Finding>> fsck(FsckMode mode) override { return pass(StoreCall::kFsck, &Store::fsck, mode); }
  Status try_write() override { return pass(StoreCall::kTryWrite, &Store::try_write); }
  Result<StoreState> state() override { return pass(StoreCall::kState, &Store::state); }
  Result<bool> hear(const StoreMark& told) override { return pass(StoreCall::kHear, &Store::hear, told); }
  Result<StoreState> accept_regression() override {
    return pass(StoreCall::kAcceptRegression, &Store::accept_regression);
  }

  // What neither fails nor takes long has no gate.
  StoreMark seen() override { return inner().seen(); }
  std::uint64_t changes() override { return inner().changes(); }
  void wait_for_change(std::uint64_t seen, Millis timeout) override { inner().wait_for_change(seen, timeout); }
  void wait_for_work(std::span<const Serve> serves, std::uint64_t seen, Millis timeout,
                     const std::stop_token& stop) override {
    inner().wait_for_work(serves, seen, timeout, stop);
  }

 protected:
  [[nodiscard]] virtual Store& inner() = 0;

 private:
  // The gate: makes the call or does not. An error takes the place of the answer, so that the caller cannot know which;
  // without an error the call must have been made.
  [[nodiscard]] virtual Status guard(StoreCall call, const std::function<void()>& make) = 0;

  template <class Answer, class... Parameters>
  Answer pass(StoreCall call, Answer (Store::*method)(Parameters...), std::type_identity_t<Parameters>... given) {
    return pass_to<Store>(call, method, given...);
  }
  // To a part of the store.
  template <class Part, class Answer, class... Parameters>
  Answer pass_to(StoreCall call, Answer (Part::*method)(Parameters...), std::type_identity_t<Parameters>... given) {
    std::optional<Answer> answer;
    TRY(guard(call, [&] { answer = (inner().*method)(given...); }));
    CHECK(answer.has_value());
    return *std::move(answer);
  }
};

}  // namespace drover
