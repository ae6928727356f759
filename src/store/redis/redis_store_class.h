// The store over Redis as its own files see it: redis_store.cc, redis_reads.cc, redis_writes.cc, redis_queues.cc,
// redis_fleet.cc, redis_fsck.cc, redis_epoch.cc.
#pragma once

#include <atomic>
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "store/epoch_id.h"
#include "store/high_water.h"
#include "store/redis/client.h"
#include "store/redis/combined_calls.h"
#include "store/redis/ended_runs.h"
#include "store/redis/key_names.h"
#include "store/redis/library.h"
#include "store/redis/new_tasks.h"
#include "store/redis/redis_store.h"
#include "store/redis/step_arguments.h"
#include "store/step_watch.h"

namespace drover::redis {

using Verdicts = std::vector<Applied>;  // on the groups of one caller, or on its runs
template <class Parcel>
using CombinedSteps = CombinedCalls<Parcel, Verdicts>;

// What one caller claims.
struct ClaimParcel {
  std::vector<std::string> lines;
  std::string worker_id;
  Millis lease;
  std::span<const LeaseId> lease_ids;  // one for each task that it takes at most
  int reserved_rank;
  int others_n;
  std::optional<std::string> claim_key;
  bool takes_others;

  [[nodiscard]] std::size_t size() const { return lease_ids.size(); }
};

// Whether they may be one claim. Slots are reserved out of those of one.
[[nodiscard]] inline bool go_together(const ClaimParcel& a, const ClaimParcel& b) {
  const auto reserves = [](const ClaimParcel& parcel) { return parcel.reserved_rank != kPriorityMax; };
  return a.lines == b.lines && a.worker_id == b.worker_id && a.lease == b.lease && !reserves(a) && !reserves(b) &&
         !a.claim_key && !b.claim_key;
}

struct ClaimAnswer {
  std::shared_ptr<const Reply> reply;  // to all that went together
  std::span<const Reply> parts;        // of the records of this caller
  bool more;
  bool unknown_worker;
};

class EventReview;

class RedisStore final : public Store {
 public:
  explicit RedisStore(RedisOptions options)
      : options_(std::move(options)),
        library_(redis::library_name(clock_kind())),
        key_("{" + options_.address.prefix + "}:"),
        high_water_(options_.mark_path),
        client_(watched(client_options())),
        claims_(watched(client_options())),
        renewals_(client_options()) {}

  [[nodiscard]] Status open();

  Result<Time> now() override;
  Result<StoreClocks> clocks() override;
  Result<std::vector<std::optional<TaskRecord>>> read(std::span<const TaskId> ids, Parts parts) override;
  Result<std::optional<TaskId>> find_request(const std::string& owner, const std::string& request_id) override;
  Result<DedupeMatches> find_dedupe(const std::string& owner, const std::string& type, const std::string& key) override;
  Result<std::vector<TaskRecord>> dependents(const TaskId& parent) override { return relatives("dependents", parent); }
  Result<std::vector<TaskRecord>> children(const TaskId& spawner) override { return relatives("children", spawner); }
  Result<RecordPage> list(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor,
                          Parts parts) override;
  Result<std::vector<RunSummary>> runs(const TaskId& id, int limit) override;
  Result<std::vector<Event>> events(std::int64_t after, int limit) override;
  Result<std::int64_t> last_task_seq() override;
  Result<std::int64_t> last_event_seq() override;
  using Store::log;
  Result<LogPage> log(const TaskId& id, const LogQuery& query) override;
  Result<Backlog> backlog(std::span<const Serve> serves) override;
  Result<std::vector<std::string>> ledger_days() override;
  Result<std::vector<LedgerEntry>> ledger(const std::string& day) override;
  Result<std::vector<SpendEntry>> spend() override;

  Result<std::vector<std::optional<QuestionRecord>>> read_questions(std::span<const QuestionId> ids) override;
  Result<std::vector<QuestionRecord>> questions_of(const TaskId& task) override;
  Result<QuestionPage> list_questions(const QuestionFilter& filter, int limit,
                                      const std::optional<QuestionId>& before) override;
  Result<std::vector<QuestionRecord>> open_questions(const std::optional<QuestionId>& after, int limit) override;
  Result<std::array<std::int64_t, kQuestionStateCount>> count_questions() override;
  Result<std::int64_t> count_answer_waits(const std::optional<std::string>& owner) override;
  Result<std::vector<QuestionRecord>> due_questions(int limit) override;

  Result<std::vector<Applied>> apply(std::span<const StepGroup> groups) override;
  Result<Claimed> claim(const ClaimRequest& request, std::span<const LeaseId> lease_ids,
                        const std::optional<ReservedSlots>& reserved) override;
  Result<Beat> renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) override;
  Result<std::vector<bool>> note(std::span<const Note> notes) override;

  Result<std::vector<GateState>> read_gates(std::span<const std::string> names) override;
  Result<std::vector<GateState>> gates_from(const std::string& prefix, const std::string& after, int limit) override;
  Result<std::vector<GateState>> gates() override { return gate_states(function("gates")); }
  Result<int> wake_gates() override;
  Result<std::optional<LanePosition>> lane_position(const TaskId& id) override;
  Result<std::vector<QueueCounts>> queues() override;
  Result<std::vector<WaitingLane>> lanes(int limit) override;
  Result<std::vector<QueueCounts>> queues_of(const std::string& owner) override;

  Result<std::vector<TaskRecord>> due(int limit) override { return records(function("due").add(limit)); }
  Result<std::vector<TaskRecord>> past_deadline(int limit) override {
    return records(function("past_deadline").add(limit));
  }
  Result<std::vector<TaskRecord>> lapsed(std::optional<Millis> silent_for, int limit) override;
  Result<std::vector<TaskRecord>> cascades(int limit) override { return records(function("cascades").add(limit)); }
  Result<std::optional<Millis>> next_wake() override;
  Result<int> expire(const Retention& retention, int limit) override;

  Status register_worker(const WorkerInfo& worker) override;
  Status unregister_worker(const std::string& worker_id, const std::string& reason) override;
  Result<bool> drain_worker(const DrainOrder& order) override;
  Result<std::vector<WorkerInfo>> workers() override;
  Result<std::optional<WorkerInfo>> worker(const std::string& worker_id) override;
  Result<std::vector<std::string>> forget_workers(Millis silent_for) override;

  Result<Config> config() override;
  Result<std::vector<ConfigVersion>> config_versions(int limit) override;
  Result<std::optional<JsonText>> config_at(std::int64_t version) override;
  Result<bool> put_config(const JsonText& document, std::int64_t based_on_version, std::span<const GateStep> gates,
                          const Weights& weights) override;
  Status restore(std::span<const DumpedTask> tasks, std::span<const Event> events, std::span<const LedgerEntry> ledger,
                 std::span<const SpendEntry> spend) override;
  Result<bool> restore_epochs(std::span<const Epoch> epochs) override;
  Status restore_config(std::span<const DumpedPolicy> versions) override;
  Result<StoredDocument> document(DocumentKind kind) override;
  Result<bool> put_document(DocumentKind kind, const JsonText& text, std::int64_t based_on_version,
                            std::span<const EventDraft> events) override;
  Result<std::optional<StoredConversation>> read_conversation(const ConversationName& name) override;
  Result<std::vector<std::optional<JsonText>>> conversation_bodies(const ConversationName& name,
                                                                   std::span<const std::int64_t> numbers) override;
  Result<std::vector<StoredConversation>> list_conversations(const std::optional<std::string>& owner,
                                                             const ConversationName& after, int limit) override;
  Result<ConversationApplied> put_conversation(const ConversationStep& step) override;
  Result<std::vector<Finding>> fsck(FsckMode mode) override;
  Status try_write() override;
  Result<StoreState> state() override;
  StoreMark seen() override { return high_water_.store_mark(); }
  Result<bool> hear(const StoreMark& told) override;
  Result<StoreState> accept_regression() override;

  std::uint64_t changes() override;
  void wait_for_change(std::uint64_t seen, Millis timeout) override;
  void wait_for_work(std::span<const Serve> serves, std::uint64_t seen, Millis timeout,
                     const std::stop_token& stop) override;
  Result<SweepTurn> take_sweep_turn() override;
  void wait_for_sweep(std::uint64_t seen, Millis timeout, const std::stop_token& stop) override;
  void end_sweeping() override;

 private:
  // fsck: redis_fsck.cc.
  [[nodiscard]] Result<Reply> ask_patiently(const Command& command);
  [[nodiscard]] Result<std::vector<Finding>> check_logs(FsckMode mode);
  [[nodiscard]] Result<std::vector<Finding>> check_tasks(FsckMode mode);
  [[nodiscard]] Result<std::vector<Finding>> check_events();
  [[nodiscard]] Status read_events_on(EventReview& review);
  [[nodiscard]] Result<std::vector<std::pair<TaskId, TaskState>>> tasks_elsewhere(const EventReview& review);
  void add_gate_limits(Command& command);
  [[nodiscard]] bool unblock(std::string_view tasks);
  [[nodiscard]] bool unblock(const TaskId& id);
  [[nodiscard]] redis::LibraryClock clock_kind() const {
    return options_.test_clock != nullptr ? redis::LibraryClock::kCaller : redis::LibraryClock::kServer;
  }
  [[nodiscard]] redis::ClientOptions client_options();

  // Tasks with their seqs, newest first, and the seq before which the next slice begins; empty after the last one.
  struct Slice {
    std::vector<std::pair<std::string, TaskRecord>> found = {};
    std::string next;
  };
  [[nodiscard]] Result<Slice> list_slice(const TaskFilter& filter, const std::string& from, int limit, Parts parts);
  [[nodiscard]] Result<RecordPage> with_parts(RecordPage heads, Parts parts);

  // A call of one of our functions, as far as all calls are alike.
  [[nodiscard]] Command function(std::string_view name) const;
  // The answer; an error reply is a failure.
  [[nodiscard]] Result<Reply> ask(const Command& command) { return ask(client_, command); }
  [[nodiscard]] Result<Reply> ask(Client& client, const Command& command);
  [[nodiscard]] Error failure(const Reply& error_reply);
  // Something of the store is not as we wrote it: what follows from the tasks is made anew. Returns whether the call
  // that met it is worth another try.
  bool mend(std::string_view why);
  [[nodiscard]] Result<std::int64_t> ask_number(const Command& command);
  using SharedVerdicts = std::vector<Result<Verdicts>>;  // of one call, to each of its callers
  [[nodiscard]] SharedVerdicts ask_verdicts(const Command& command, std::span<const std::size_t> sizes);
  [[nodiscard]] SharedVerdicts send_groups(std::string_view name, std::span<const redis::PackedGroups* const> parcels);
  [[nodiscard]] SharedVerdicts send_new(std::span<const redis::NewTasks* const> parcels);
  [[nodiscard]] SharedVerdicts send_ends(std::span<const std::vector<redis::EndedRun>* const> parcels);
  [[nodiscard]] std::vector<Result<ClaimAnswer>> send_claims(std::span<const ClaimParcel* const> parcels);
  [[nodiscard]] Result<std::vector<TaskRecord>> records(const Command& command);
  [[nodiscard]] Status end_runs(std::span<const StepGroup> groups, std::vector<Applied>& verdicts);
  [[nodiscard]] Status apply_rest(std::span<const StepGroup> groups, std::vector<Applied>& verdicts,
                                  CombinedSteps<redis::PackedGroups>& calls);
  // The records that can be read. The others are put apart, so that they stop nobody.
  [[nodiscard]] std::vector<TaskRecord> readable(std::span<const Reply> items);
  // False: it cannot.
  bool add_readable(std::span<const Reply> parts, std::vector<TaskRecord>& found);
  [[nodiscard]] Result<std::vector<TaskRecord>> relatives(std::string_view kind, const TaskId& id);
  [[nodiscard]] Result<std::vector<GateState>> gate_states(const Command& command);
  [[nodiscard]] Result<std::vector<std::int64_t>> counts(const std::string& scope);
  [[nodiscard]] Command claim_command(std::span<const ClaimParcel* const> parcels) const;
  [[nodiscard]] Result<Reply> make_pool(std::span<const std::string> lines);
  [[nodiscard]] Clock& clock() const { return options_.test_clock != nullptr ? *options_.test_clock : system_clock(); }
  // How late it is at least in lease time; nothing before Redis has said it once. See lua/1_clock.lua.
  [[nodiscard]] std::optional<Millis> lease_time() const;
  // Redis was told `said`, if anything, not before `sent`, and answered before `heard`.
  void heard_lease_time(Millis lease_time, std::optional<Millis> said, MonoTime sent, MonoTime heard);
  [[nodiscard]] Result<StoreClocks> ask_clocks();
  [[nodiscard]] Result<Config> ask_config();
  void committed();
  [[nodiscard]] std::string key(std::string_view name) const { return key_ + std::string(name); }
  [[nodiscard]] bool wait_for_token(const std::string& list, Millis timeout, const std::stop_token& stop);

  // Whether Redis is still where it has been: redis_epoch.cc.
  [[nodiscard]] redis::ClientOptions watched(redis::ClientOptions options);
  [[nodiscard]] Command ask_epochs(const Mark& seen, const JsonText& acceptance) const;
  [[nodiscard]] Status look(Connection& connection, const Patience& patience);
  [[nodiscard]] BatchWatch::Verdict judge(const Mark& before, const Reply& answer);
  [[nodiscard]] Status check_extent();
  // What is gone, by the store's own inventory. Of events, a repair tells for the last time.
  [[nodiscard]] Result<std::vector<Finding>> missing();
  [[nodiscard]] static Result<std::vector<Finding>> to_missing(const Result<Reply>& inventory);

  const RedisOptions options_;
  const std::string library_;
  const std::string key_;
  HighWater high_water_;
  Client client_;
  Client claims_;                                  // so that the server claims for some while it settles for others
  Client renewals_;                                // a slow batch must not cost leases
  static constexpr std::size_t kStepsMax = 1'000;  // in one call, of several callers
  CombinedSteps<redis::NewTasks> new_tasks_{kStepsMax, [this](auto parcels) { return send_new(parcels); }};
  CombinedSteps<redis::PackedGroups> additions_{kStepsMax,
                                                [this](auto parcels) { return send_groups("enqueue", parcels); }};
  CombinedSteps<redis::PackedGroups> changes_of_stored_{kStepsMax,
                                                        [this](auto parcels) { return send_groups("apply", parcels); }};
  CombinedSteps<std::vector<redis::EndedRun>> ended_runs_{kStepsMax,
                                                          [this](auto parcels) { return send_ends(parcels); }};
  CombinedCalls<ClaimParcel, ClaimAnswer> claims_under_way_{kStepsMax,
                                                            [this](auto parcels) { return send_claims(parcels); }};

  // What was asked lately, to spare a round trip before each decision.
  template <class T>
  struct Known {
    T value;
    MonoTime asked_at;
  };
  std::mutex known_mutex_;
  std::optional<Known<StoreClocks>> clocks_;
  std::optional<Known<Config>> config_;

  static constexpr std::int64_t kNeverHeard = std::numeric_limits<std::int64_t>::min();
  std::atomic<std::int64_t> lease_time_ahead_ms_{kNeverHeard};  // of our monotonic clock, at least
  StepWatch step_watch_{"the Redis server"};

  std::mutex mend_mutex_;
  std::optional<MonoTime> mended_at_;
  bool mending_helps_ = true;  // the last one repaired something

  // Of the thread that sweeps.
  const std::string sweeper_id_ = new_epoch_id(system_rng());
  bool sweeper_woken_ = false;

  std::mutex change_mutex_;
  std::condition_variable changed_;
  std::uint64_t changes_ = 1;
  std::string last_mark_;  // of the server's, when last looked
};

}  // namespace drover::redis
