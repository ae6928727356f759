// Store: the data contract under the engine. Plain data in, plain data out; no policy.
//
// The one idea: every transition is decided in C++ from records that were read, and applied as a group of steps under
// compare-and-set. If anything that the decision was based on has moved, nothing is written and the engine decides
// anew. What needs shared state runs inside the store: choosing what to claim, line order, capacity, request ids.
//
// Safe to call from any thread. Writes of concurrent callers may be combined into one commit; each is answered by
// itself.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/try.h"
#include "core/dump.h"
#include "core/epoch.h"
#include "core/names.h"
#include "core/step.h"
#include "core/store_clocks.h"
#include "drover/task_queue.h"
#include "store/conversation_store.h"

namespace drover {

struct Capacity {
  std::int64_t waiting_max = 1'000'000;
  std::int64_t waiting_per_owner_max = 100'000;
  std::vector<std::pair<std::string, std::int64_t>> waiting_per_queue_max = {};  // of the queues that have such a limit
};

// The newest task of that owner, type and dedupe key is still this one; none if there was none.
struct DedupeGuard {
  std::string owner;
  std::string type;
  std::string key;
  std::optional<TaskId> newest;
};

// Documents that the engine keeps in a store; the store knows nothing of what they say.
enum class DocumentKind : std::uint8_t {
  kHealth,        // engine/health.h
  kAccessTokens,  // engine/tokens.h
  kBelievedTime,  // core/believed_time.h
  kBulk,          // engine/bulk_document.h
  kHistory,       // core/stats_history.h
  kPastAlerts,    // engine/health.h
  kViews,         // engine/views.cc
};
inline constexpr int kDocumentKindCount = 7;
// The same in every store.
[[nodiscard]] constexpr std::string_view name_of(DocumentKind kind) {
  return name_in(Names<kDocumentKindCount>{"health", "access_tokens", "believed_time", "bulk", "stats_history",
                                           "past_alerts", "views"},
                 kind);
}

struct StoredDocument {
  std::int64_t version = 0;  // 0: nothing stored yet
  JsonText text = "{}";
  bool due = false;  // sweepers have work with it
};

// A document's way from one version to the next, together with the steps that it tells of.
struct DocumentStep {
  DocumentKind kind = DocumentKind::kBulk;
  std::int64_t expected_version = 0;
  JsonText text = "{}";
  bool due = false;                     // whether sweepers have work with it from now on
  std::vector<EventDraft> events = {};  // of no task; they come after those of the steps
};

// Steps that take effect together or not at all. At most one step per task and per gate.
struct StepGroup {
  std::vector<Step> steps;
  std::optional<Capacity> capacity;  // set when the group adds tasks
  std::vector<GateStep> gates = {};
  std::vector<DedupeGuard> dedupes = {};
  std::optional<DocumentStep> document = {};
  std::vector<QuestionStep> questions = {};
};

enum class Applied : std::uint8_t {
  kDone,
  kConflict,      // a guard did not hold: read again, decide again
  kIdTaken,       // a new task's id exists
  kRequestTaken,  // a new task's owner and request id exist
  kQueueFull,     // more would wait in a queue than may
  kStillLeased,   // a task would begin anew, or go, whose last run was revoked and whose lease has not run out yet
  kOwnerFull,     // more would wait of an owner than may
  kAllFull,       // more would wait in all than may
};

// What a claim took. More: it stopped at a bound on its work, and there may be tasks that it did not get to.
struct Claimed {
  std::vector<TaskRecord> records;
  bool more = false;
  bool unknown_worker = false;  // the claim has a key, and no worker is registered that it could be kept with
};

// Of n tasks, at most n_others may have a higher rank number than `rank`.
struct ReservedSlots {
  int rank = 0;
  int n_others = 0;
};

struct DedupeMatches {
  std::optional<TaskRecord> newest;    // of all that are kept
  std::vector<TaskRecord> unfinished;  // newest first, at most 16
};

struct GateState {
  GateRecord record;
  GateUse use;
  std::int64_t waiting_lanes = 0;
};

// Where a waiting task stands.
struct LanePosition {
  std::optional<std::string> parked_at;  // the gate where its lane is parked; none: the lane is open
  std::int64_t ahead = 0;                // tasks before it in its lane, counted up to kAheadMax
};
inline constexpr std::int64_t kAheadMax = 1'000;

// The task of a queue that comes first in line, whatever holds it back.
struct FirstInLine {
  TaskId id;
  Time since{};  // when it was ready
};

// A lane that tasks wait in.
struct WaitingLane {
  Task like;  // what they have in common: core/lane.h
  std::int64_t tasks = 0;
  FirstInLine first;
};

struct QueueCounts {
  std::string name;
  std::array<std::int64_t, kTaskStateCount> tasks{};  // by state
  std::optional<FirstInLine> first = {};              // none if nothing waits
};

// The parts of the policy that a store itself obeys.
struct Weights {
  std::map<std::string, int> owners = {};  // owners with a share of their own
  int others = 1;                          // of everybody else
};

// What a running task says of itself. Stored only under its live lease; leaves the revision alone.
struct Note {
  Lease lease;
  std::optional<Progress> progress;  // also an event
  std::optional<JsonText> checkpoint;
  std::vector<LogChunk> log;
};

struct RecordPage {
  std::vector<TaskRecord> records;
  std::optional<std::string> cursor;
  std::optional<Searched> searched{};
};

// What retention lets go of: finished tasks, oldest first, beyond any of these. Which time it is says
// core/believed_time.h, not the store's clock, which somebody may have set.
struct Retention {
  Time finished_until = Time::min();  // what ended then or earlier is too old
  std::int64_t tasks_max = 1'000'000;
  std::int64_t bytes_max = 4LL << 30;
  Time events_until = Time::min();
  std::int64_t events_max = 1'000'000;
  std::string ledger_from = "";  // the first day of the ledger that stays
};

// Whether this process is the one to sweep.
struct SweepTurn {
  bool is_ours = true;
  Millis rest{};  // zero: something is due; of another's turn: until that one could be gone
};

class Store : public ConversationStore {
 public:
  // The clock that decides what is due. Leases go by the steady one.
  [[nodiscard]] virtual Result<Time> now() = 0;
  [[nodiscard]] virtual Result<StoreClocks> clocks() = 0;

  // In the order of ids; nothing where there is no such task.
  [[nodiscard]] virtual Result<std::vector<std::optional<TaskRecord>>> read(std::span<const TaskId> ids,
                                                                            Parts parts) = 0;
  [[nodiscard]] virtual Result<std::optional<TaskId>> find_request(const std::string& owner,
                                                                   const std::string& request_id) = 0;
  [[nodiscard]] virtual Result<DedupeMatches> find_dedupe(const std::string& owner, const std::string& type,
                                                          const std::string& key) = 0;
  // Heads of the tasks that depend on `parent`; of the tasks that `spawner` spawned.
  [[nodiscard]] virtual Result<std::vector<TaskRecord>> dependents(const TaskId& parent) = 0;
  [[nodiscard]] virtual Result<std::vector<TaskRecord>> children(const TaskId& spawner) = 0;
  // In the filter's order. A page may end early when its bodies are large, or when many tasks were looked at; its
  // cursor then tells.
  [[nodiscard]] virtual Result<RecordPage> list(const TaskFilter& filter, int limit,
                                                const std::optional<std::string>& cursor, Parts parts) = 0;
  // The number of the newest task there ever was. A cursor one larger begins with it, and misses all that come later.
  [[nodiscard]] virtual Result<std::int64_t> last_task_seq() = 0;
  [[nodiscard]] virtual Result<std::vector<RunSummary>> runs(const TaskId& id, int limit) = 0;  // newest first
  [[nodiscard]] virtual Result<std::vector<Event>> events(std::int64_t after, int limit) = 0;
  [[nodiscard]] virtual Result<std::int64_t> last_event_seq() = 0;
  [[nodiscard]] virtual Result<LogPage> log(const TaskId& id, const LogQuery& query) = 0;
  [[nodiscard]] virtual Result<Backlog> backlog(std::span<const Serve> serves) = 0;
  // The days that the ledger has something of, oldest first; and all that it has of one, in any order.
  [[nodiscard]] virtual Result<std::vector<std::string>> ledger_days() = 0;
  [[nodiscard]] virtual Result<std::vector<LedgerEntry>> ledger(const std::string& day) = 0;
  // All that is kept of what was spent and is set aside behind gates with budgets, in order.
  [[nodiscard]] virtual Result<std::vector<SpendEntry>> spend() = 0;

  // In the order of ids; nothing where there is no such question.
  [[nodiscard]] virtual Result<std::vector<std::optional<QuestionRecord>>> read_questions(
      std::span<const QuestionId> ids) = 0;
  // Those that a task asked, oldest first.
  [[nodiscard]] virtual Result<std::vector<QuestionRecord>> questions_of(const TaskId& task) = 0;
  // Newest first, those before a given one. Looks at a bounded number: a page may end early, and its cursor then tells.
  [[nodiscard]] virtual Result<QuestionPage> list_questions(const QuestionFilter& filter, int limit,
                                                            const std::optional<QuestionId>& before) = 0;
  // Those that are open and come after a given one, oldest first.
  [[nodiscard]] virtual Result<std::vector<QuestionRecord>> open_questions(const std::optional<QuestionId>& after,
                                                                           int limit) = 0;
  // How many are kept, by state.
  [[nodiscard]] virtual Result<std::array<std::int64_t, kQuestionStateCount>> count_questions() = 0;
  // How many tasks wait for answers (waits_for_answer()): of all owners, or of one.
  [[nodiscard]] virtual Result<std::int64_t> count_answer_waits(const std::optional<std::string>& owner) = 0;
  // Open ones whose time (core/question.h: wake_at) has come, at most `limit`.
  [[nodiscard]] virtual Result<std::vector<QuestionRecord>> due_questions(int limit) = 0;

  // One answer per group. An Error means that nothing is known to be written: the commit failed or its fate is unknown.
  [[nodiscard]] virtual Result<std::vector<Applied>> apply(std::span<const StepGroup> groups) = 0;
  // Takes up to n claimable tasks under new leases made from lease_ids (n of them), in the order that
  // docs/internals/lanes-and-gates.md describes. Bounded work per call. What a claim with a key takes is written to its
  // worker's record in the same commit; one with the key that is written there takes nothing and gets what that one
  // still holds, unless it `takes_others`.
  [[nodiscard]] virtual Result<Claimed> claim(const ClaimRequest& request, std::span<const LeaseId> lease_ids,
                                              const std::optional<ReservedSlots>& reserved) = 0;
  [[nodiscard]] virtual Result<Beat> renew(const std::string& worker_id, std::span<const Lease> leases,
                                           Millis lease) = 0;
  // One answer per note: whether its lease was live.
  [[nodiscard]] virtual Result<std::vector<bool>> note(std::span<const Note> notes) = 0;

  // In the order of names; a gate that is not stored has revision 0.
  [[nodiscard]] virtual Result<std::vector<GateState>> read_gates(std::span<const std::string> names) = 0;
  // Every gate that is stored or has lanes waiting, by name; but those of sessions.
  [[nodiscard]] virtual Result<std::vector<GateState>> gates() = 0;
  // Those whose name begins with `prefix` and comes after `after`, if they are stored, by name. The only way to see
  // gates of sessions that one cannot name: gates() leaves them out.
  [[nodiscard]] virtual Result<std::vector<GateState>> gates_from(const std::string& prefix, const std::string& after,
                                                                  int limit) = 0;
  // Lets lanes go whose gate's time has come, at most kWakesMax. Returns how many; claims do the same.
  [[nodiscard]] virtual Result<int> wake_gates() = 0;
  // None if the task does not wait in a lane.
  [[nodiscard]] virtual Result<std::optional<LanePosition>> lane_position(const TaskId& id) = 0;
  // Lanes by name, each with the exact number of its waiting tasks. If there are more than the limit, so many of them.
  [[nodiscard]] virtual Result<std::vector<WaitingLane>> lanes(int limit) = 0;
  // Queues that hold tasks, by name.
  [[nodiscard]] virtual Result<std::vector<QueueCounts>> queues() = 0;
  // Queues that hold tasks of the owner, by name, with the numbers of those alone; who is first in line is not told.
  [[nodiscard]] virtual Result<std::vector<QueueCounts>> queues_of(const std::string& owner) = 0;

  // For the sweepers; heads, at most `limit`, most urgent first.
  [[nodiscard]] virtual Result<std::vector<TaskRecord>> due(int limit) = 0;            // scheduled, run_at reached
  [[nodiscard]] virtual Result<std::vector<TaskRecord>> past_deadline(int limit) = 0;  // unfinished, with bodies
  // Running tasks whose lease ran out, or (silent_for) was not renewed for that long.
  [[nodiscard]] virtual Result<std::vector<TaskRecord>> lapsed(std::optional<Millis> silent_for, int limit) = 0;
  [[nodiscard]] virtual Result<std::vector<TaskRecord>> cascades(int limit) = 0;  // cascade_due
  // How long until the next of these, or of the gates, is due; nothing if none waits.
  [[nodiscard]] virtual Result<std::optional<Millis>> next_wake() = 0;
  // Deletes finished tasks and old events beyond retention, at most `limit` tasks. Returns how many tasks went.
  [[nodiscard]] virtual Result<int> expire(const Retention& retention, int limit) = 0;

  [[nodiscard]] virtual Status register_worker(const WorkerInfo& worker) = 0;
  // One that drains stays so, whatever a later registration says. Going and being told to drain are events.
  [[nodiscard]] virtual Status unregister_worker(const std::string& worker_id, const std::string& reason) = 0;
  // False if there is no such worker.
  [[nodiscard]] virtual Result<bool> drain_worker(const DrainOrder& order) = 0;
  [[nodiscard]] virtual Result<std::vector<WorkerInfo>> workers() = 0;
  // `running` is not counted.
  [[nodiscard]] virtual Result<std::optional<WorkerInfo>> worker(const std::string& worker_id) = 0;
  // Forgets workers silent for that long that hold no lease; each is an event. Returns their ids.
  [[nodiscard]] virtual Result<std::vector<std::string>> forget_workers(Millis silent_for) = 0;

  [[nodiscard]] virtual Result<Config> config() = 0;
  // Newest first; and the document of one of them, if it is there.
  [[nodiscard]] virtual Result<std::vector<ConfigVersion>> config_versions(int limit) = 0;
  [[nodiscard]] virtual Result<std::optional<JsonText>> config_at(std::int64_t version) = 0;
  // The document, its limits as steps of gates, and its weights, together. False: based_on_version is not the stored
  // one any more, or a gate has moved.
  [[nodiscard]] virtual Result<bool> put_config(const JsonText& document, std::int64_t based_on_version,
                                                std::span<const GateStep> gates, const Weights& weights) = 0;

  // Writes what a dump has, behind what is there: tasks get the next numbers in their order, events keep theirs, which
  // are larger than any before. No rule is asked, and nothing that follows from the tasks is right until fsck(kRepair).
  [[nodiscard]] virtual Status restore(std::span<const DumpedTask> tasks, std::span<const Event> events,
                                       std::span<const LedgerEntry> ledger, std::span<const SpendEntry> spend) = 0;
  // These, the last of which is the current one, take the place of all epochs; then one begins: kRestored. False: the
  // current one is another.
  [[nodiscard]] virtual Result<bool> restore_epochs(std::span<const Epoch> epochs) = 0;
  // These, oldest first, take the place of all versions of the policy. The last is the one in force: it has the
  // document that was put, with what follows from it.
  [[nodiscard]] virtual Status restore_config(std::span<const DumpedPolicy> versions) = 0;
  [[nodiscard]] virtual Result<StoredDocument> document(DocumentKind kind) = 0;
  // With events of no task. False: based_on_version is not the stored one any more.
  [[nodiscard]] virtual Result<bool> put_document(DocumentKind kind, const JsonText& text,
                                                  std::int64_t based_on_version,
                                                  std::span<const EventDraft> events) = 0;

  // Rows against every index and count, both ways.
  [[nodiscard]] virtual Result<std::vector<Finding>> fsck(FsckMode mode) = 0;

  // Whether a new task could be stored now: a write that changes nothing anybody sees.
  [[nodiscard]] virtual Status try_write() = 0;

  // Whether it is still where it has been: docs/internals/store-epochs.md. While it is not, claim answers
  // kStoreRegressed.
  [[nodiscard]] virtual Result<StoreState> state() = 0;
  // How far this process has seen it to be; without the store's name if it has not looked yet.
  [[nodiscard]] virtual StoreMark seen() = 0;
  // What somebody else has seen of it counts as if this process had. True: by that something is known to be gone, and
  // was not before. A mark of another store says nothing.
  [[nodiscard]] virtual Result<bool> hear(const StoreMark& told) = 0;
  // Begins an epoch in which what was lost is accepted. The state afterwards, with the loss as it was before.
  [[nodiscard]] virtual Result<StoreState> accept_regression() = 0;

  // See TaskQueue.
  [[nodiscard]] virtual std::uint64_t changes() = 0;
  virtual void wait_for_change(std::uint64_t seen, Millis timeout) = 0;
  virtual void wait_for_work(std::span<const Serve> serves, std::uint64_t seen, Millis timeout,
                             const std::stop_token& stop) = 0;

  // For the thread of a process that sweeps. One process at a time is enough.
  [[nodiscard]] virtual Result<SweepTurn> take_sweep_turn() {
    const auto wake = TRY(next_wake());
    return SweepTurn{.is_ours = true, .rest = std::min(wake.value_or(kSweepEvery), kSweepEvery)};
  }
  // Until something may be due sooner than it was told, or the time has passed, or the thread is to end.
  virtual void wait_for_sweep(std::uint64_t seen, Millis timeout, const std::stop_token& stop) {
    for (Millis left = timeout; left > Millis{0} && !stop.stop_requested() && changes() == seen;
         left -= kSweepStopsWithin) {
      wait_for_change(seen, std::min(left, kSweepStopsWithin));
    }
  }
  virtual void end_sweeping() {}

  [[nodiscard]] Result<LogPage> log(const TaskId& id, std::int64_t after, int limit) {
    return log(id, LogQuery{.after = after, .limit = limit});
  }

  // See TaskQueue; the rest as claim(). Outlives what it returns.
  [[nodiscard]] virtual Result<std::unique_ptr<StandingClaim<TaskRecord>>> leave_claim(
      const ClaimRequest& /*request*/, std::span<const LeaseId> /*lease_ids*/,
      const std::optional<ReservedSlots>& /*reserved*/, std::function<void()> /*on_answer*/) {
    return nullptr;
  }

 private:
  static constexpr Millis kSweepEvery{500};
  static constexpr Millis kSweepStopsWithin{100};
};

}  // namespace drover
