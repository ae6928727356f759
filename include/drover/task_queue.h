// TaskQueue: the verbs. What workers, command line, servers and the conformance suite speak.
//
// Every verb is synchronous, never waits for work, and either takes effect whole or not at all. A failed call with code
// kStoreUnavailable may have taken effect ("unknown"): ask again by id, or repeat it with the same request id.
// All implementations are safe to call from any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "drover/error.h"
#include "drover/gate.h"
#include "drover/ids.h"
#include "drover/question.h"
#include "drover/session.h"
#include "drover/stats.h"
#include "drover/task.h"
#include "drover/time.h"
#include "drover/usage.h"

namespace drover {

struct Enqueued {
  TaskId id;
  TaskState state = TaskState::kPending;
  bool deduplicated =
      false;  // this task was there already: an exact replay of a request id, or a dedupe_key that matched

  bool operator==(const Enqueued&) const = default;
};

enum class Parts : std::uint8_t {
  kHead,     // without what may be large
  kSummary,  // the head, tags, model and agent_id; of the prompt, or else of the payload, the first kExcerptBytes or
             // more
  kAll,
};
inline constexpr std::size_t kExcerptChars = 200;
inline constexpr std::size_t kExcerptBytes = 4 * kExcerptChars;  // in UTF-8

// Names, of which any will do; none: whatever it is.
class AnyOf {
 public:
  AnyOf() = default;
  AnyOf(const char* name) : names_{name} {}                            // NOLINT(google-explicit-constructor)
  AnyOf(std::string name) : names_{std::move(name)} {}                 // NOLINT(google-explicit-constructor)
  AnyOf(std::vector<std::string> names) : names_(std::move(names)) {}  // NOLINT(google-explicit-constructor)
  AnyOf(const std::optional<std::string>& name) {                      // NOLINT(google-explicit-constructor)
    if (name) names_.push_back(*name);
  }

  [[nodiscard]] explicit operator bool() const { return !names_.empty(); }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] bool admits(const std::string& name) const {
    return names_.empty() || std::ranges::find(names_, name) != names_.end();
  }
  void add(std::string name) {
    if (names_.empty() || !admits(name)) names_.push_back(std::move(name));
  }
  bool operator==(const AnyOf&) const = default;

 private:
  std::vector<std::string> names_;
};

// By when tasks were made.
enum class TaskOrder : std::uint8_t { kNewestFirst, kOldestFirst };

struct TaskFilter {
  AnyOf type{};
  AnyOf queue{};
  AnyOf owner{};
  std::vector<TaskState> states{};  // any of these; empty: all
  AnyOf tag{};
  std::optional<TaskId> parent_id{};
  // Of how it ended, or failed last.
  std::optional<ErrorClass> error_class{};
  std::optional<std::string> fingerprint{};  // core/fingerprint.h: failures of one kind
  std::optional<Time> finished_after{};      // then or later
  std::optional<Time> finished_before{};
  std::optional<bool> escalated{};
  std::optional<std::string> worker_id{};  // that runs it, or ran it last
  std::optional<Time> created_since{};     // then or later
  std::optional<Time> created_until{};     // before then
  // In its prompt, payload or error, whether in capitals or not. One call looks at a bounded number of tasks.
  std::optional<std::string> search{};
  std::optional<std::string> id_prefix{};  // what its id begins with, in small letters
  std::optional<std::string> model{};      // that it asks for
  std::optional<std::string> agent_id{};
  std::optional<std::string> gate{};  // that it has to pass
  TaskOrder order = TaskOrder::kNewestFirst;

  bool operator==(const TaskFilter&) const = default;
};

// How far a call has looked, where it went from task to task.
struct Searched {
  std::int64_t tasks = 0;
  Time back_to{};  // when the last of them was created

  bool operator==(const Searched&) const = default;
};

// How many tasks, events or records of a log one call may ask for.
inline constexpr int kPageMax = 1'000;

struct TaskPage {
  std::vector<Task> tasks;            // in the order that was asked for
  std::optional<std::string> cursor;  // where the next page starts; absent on the last one
  std::optional<Searched> searched{};
};

// What a list shows of a task.
struct TaskSummary {
  Task task;                             // without its body, but with tags, model and agent_id
  std::optional<std::string> excerpt{};  // of its prompt, or else of its payload: the first kExcerptChars characters

  bool operator==(const TaskSummary&) const = default;
};
struct SummaryPage {
  std::vector<TaskSummary> tasks{};
  std::optional<std::string> cursor{};
  std::optional<Searched> searched{};
};

// The tasks around one, those nearest first.
struct TaskGraph {
  struct Node {
    Task task;          // its head
    int distance = 0;   // edges from the root
    bool more = false;  // it has neighbours that are not here
  };
  enum class EdgeKind : std::uint8_t { kDependsOn, kSpawned };
  struct Edge {
    TaskId from;  // what comes first
    TaskId to;
    EdgeKind kind = EdgeKind::kDependsOn;

    bool operator==(const Edge&) const = default;
  };
  TaskId root;
  std::vector<Node> nodes{};
  std::vector<Edge> edges{};
};
inline constexpr int kGraphTasksMax = 300;
[[nodiscard]] std::string_view name_of(TaskGraph::EdgeKind kind);  // "depends_on", "spawned"
[[nodiscard]] std::optional<TaskGraph::EdgeKind> parse_edge_kind(std::string_view name);

struct CancelOutcome {
  TaskState state = TaskState::kCancelled;  // kRunning: requested, cancelled when its process tree is dead
  int cancelled = 0;                        // how many tasks ended, dependents and children among them
  int requested = 0;                        // how many running ones were asked to stop
};

// What the cancel of a task leads to for one task.
struct CancelEffect {
  TaskId id;
  std::string type;
  std::optional<TaskState> from;  // kRunning: it is asked to stop; absent: a follow-up that is made
  TaskState to = TaskState::kCancelled;

  bool operator==(const CancelEffect&) const = default;
};

// Who changes something, and why: for the event that tells of it. Each is UTF-8 of at most 4 KiB.
struct Verdict {
  std::string by{};
  std::string why{};
};

// What an operator's retry changes beside the counters.
struct RetryOrder {
  Verdict verdict{};
  std::optional<JsonText> payload{};  // instead of the old one; not together with patch
  std::optional<JsonText> patch{};    // a JSON Merge Patch onto the old one
  std::optional<Time> run_at{};       // not before this time
};

// What changes of a task before it starts; what is unset stays. A task whose priority changes, or that becomes ready by
// a new time, goes to the tail of its line as if it were enqueued so.
struct EditOrder {
  std::optional<int> priority{};
  std::optional<Time> run_at{};       // not before this time
  std::optional<Millis> delay{};      // the same, from now; not together with run_at
  std::optional<JsonText> payload{};  // instead of the old one; not together with patch
  std::optional<JsonText> patch{};    // a JSON Merge Patch onto the old one
  std::optional<std::vector<std::string>> tags{};
  std::optional<std::string> version{};  // version_of() the task that the change is based on; unset: whatever it is
};
// Tells whether somebody changed a task since it was read: differs whenever what get() shows does.
[[nodiscard]] std::string version_of(const Task& task);

struct EscalateOrder {
  std::string to{};
  Verdict verdict{};
};

// Failures of one kind. A group is computed from the errors of tasks, never stored.
struct ErrorGroup {
  std::string fingerprint;  // empty: the rest, once there are too many kinds
  ErrorClass error_class = ErrorClass::kAgentError;
  std::string pattern;  // the message without what differs from one to the next
  std::int64_t count = 0;
  std::int64_t escalated = 0;      // of these
  std::vector<std::string> types;  // by name, at most kGroupTypesMax
  Time first_at{};                 // when the first and the last of them ended
  Time last_at{};
  TaskId example;  // the newest task

  bool operator==(const ErrorGroup&) const = default;
};
inline constexpr std::size_t kErrorGroupsMax = 10'000;
inline constexpr std::size_t kGroupTypesMax = 16;

// One place where a worker looks for work: a queue, and if type is set only that type in it.
struct Serve {
  std::string queue;
  std::optional<std::string> type;
  std::string trouble{};  // of a worker that cannot run this now: why; it claims none of it

  bool operator==(const Serve&) const = default;
};

struct WorkerInfo {
  std::string id;  // {hostname}:{pid}:{uuid}
  std::string version;
  std::vector<Serve> serves;
  int capacity = 1;
  Time registered_at{};  // set by the store
  Time last_beat_at{};   // set by the store
  bool draining = false;
  std::string drain_by{};  // who ordered it to drain, and why; empty: nobody did
  std::string drain_reason{};
  int running = 0;  // leases that it holds; counted by the store
  // The token with which it registered at a server: no other worker's token may act for it. Empty: it opened the store
  // itself. The first registration decides.
  std::string token_id{};
  // On disk, of all workspaces of this store's tasks that are where the worker makes them; workers of a host may share
  // them. Measured every few minutes.
  std::int64_t workspace_bytes = 0;
};
// Six heartbeats of a worker that was started without options; its leases have run out by then.
inline constexpr Millis kWorkerSilence{30'000};

// An operator tells a worker to take no more work, to finish what it has, however long that takes, and to go.
struct DrainOrder {
  std::string worker_id;
  std::string why;
  std::string by;
};

struct ClaimRequest {
  std::string worker_id;
  std::vector<Serve> serves;
  int n = 1;
  Millis lease{30'000};
  // What the worker is doing already, for queues that reserve slots for urgent work; capacity 0: nothing is reserved.
  int capacity = 0;
  std::vector<int> running_priorities = {};
  // Made by the caller, once for each claim, and a name. A repeat with the same key gets what the first one took and
  // still holds, renewed, and nothing else: so a claim whose answer was lost can be asked for again. A worker's latest
  // keyed claim that took something is remembered. Keyed claims need a registered worker.
  std::optional<std::string> claim_key = {};
  // For the engine: the policy refused all that the key took, so it takes other tasks instead.
  bool takes_others = false;
};

struct ClaimedTask {
  Task task;
  Lease lease;
  std::vector<RunSummary> earlier_runs;   // newest first, bounded
  std::vector<Question> questions{};      // that its earlier runs asked, oldest first
  std::optional<SessionStart> session{};  // of a task that runs in one
};

// What a standing claim took, and how much of the leases was left when it was asked for.
template <class Task>
struct Taken {
  std::vector<Task> tasks{};
  Millis lease_left{0};
};

// A claim that waits for its tasks in the store, and gets them with the commit that makes them ready.
template <class Task>
class StandingClaim {
 public:
  virtual ~StandingClaim() = default;  // as withdraw(): what it has taken then waits for the end of its lease
  // Whether it has come to its end by itself: it took something, or failed.
  [[nodiscard]] virtual bool is_answered() = 0;
  // Ends it, if need be. What it took; nothing if there was nothing for it so far. To be asked once, but for an error
  // while it is not answered: then it stands on, and may be asked again.
  [[nodiscard]] virtual Result<Taken<Task>> withdraw() = 0;
};

enum class LeaseState : std::uint8_t { kHeld, kCancelRequested, kLost };

// The answer to a worker's beat.
struct Beat {
  std::vector<LeaseState> leases;  // one for each
  bool drain = false;              // it was told to take no more work

  bool operator==(const Beat&) const = default;
};

// How a run ended, as its worker reports it. The engine decides what follows. Members have initialisers, so that
// callers may name only what they set without a warning.
struct Completion {
  std::optional<JsonText> result{};
  std::optional<int> exit_code{};
  std::optional<std::string> note{};
};
struct Failure {
  ErrorClass error_class = ErrorClass::kAgentError;
  std::string message{};
  std::optional<Millis> retry_after{};
  std::optional<int> exit_code{};
  std::optional<std::string> note{};
  // Nothing but the exit code tells the class: it defers this task, and says nothing of the provider.
  bool by_exit_code = false;
  // The budget of this gate was used up, and it says pause or ask: the task goes back to wait there, unharmed.
  std::optional<std::string> waits_at{};
};
// The worker gives the task back unharmed, because it is shutting down. What may run at most once goes back to its
// queue only if nothing of it has begun.
enum class Begun : std::uint8_t {
  kMaybe,
  kNo,
  kNotHere,  // no, since this worker lacks what the task names: it waits behind the others of its line from now on
};
struct Release {
  Begun begun = Begun::kMaybe;
};
// The run's process tree is dead after a cancel request.
struct CancelConfirmed {
  std::optional<int> exit_code{};
};
// The run ends, and the task waits for children that it spawned: it runs again once they are done. They become its
// parents, so what their failure means is its on_parent_failure.
// Open questions of the task are awaited as well.
struct Suspend {
  std::optional<std::vector<TaskId>> children{};  // unset: all of this generation
  std::optional<int> exit_code{};
};
// A provider refuses a run for a while: kRateLimited, kOverloaded or kQuotaExhausted.
struct ProviderThrottle {
  ErrorClass error_class = ErrorClass::kRateLimited;
  std::optional<Millis> retry_after{};

  bool operator==(const ProviderThrottle&) const = default;
};
// What a run has heard from its provider so far.
struct ProviderSignal {
  bool answered = false;                       // a model has answered it; or it ran for a minute and was not refused
  std::optional<ProviderThrottle> throttle{};  // the last refusal, which it sits out by itself

  bool operator==(const ProviderSignal&) const = default;
};
// What a run of an agent says of itself, while it runs and with its end. Each report takes the place of what the run
// said before, so one that comes twice changes nothing.
struct RunReport {
  std::optional<AgentState> agent{};
  std::optional<Usage> usage{};  // of this run so far, all of it
  std::optional<JsonText>
      evidence{};  // with its end: an object, "exit_code" among its members, of what checked the work
  std::optional<ProviderSignal> provider{};
  // The program itself says so, at its door: budgets believe it up to what was set aside for one run.
  bool at_door = false;

  [[nodiscard]] bool is_empty() const { return !agent && !usage && !evidence && !provider; }
};
struct Settlement {
  Lease lease;
  std::variant<Completion, Failure, Release, CancelConfirmed, Suspend> end;
  RunReport report{};
};

[[nodiscard]] SettleKind kind_of(const Settlement& settlement);

// The answer to a settlement. Most are no replay, so they are made of, and compared with, a state.
struct Settled {
  Settled() = default;
  Settled(TaskState to) : state(to) {}  // NOLINT(google-explicit-constructor)

  TaskState state = TaskState::kPending;  // that the task went to
  // How the run had ended: this lease had settled it in the same way before, and nothing was changed now.
  std::optional<std::string> replayed{};

  bool operator==(const Settled&) const = default;
};

enum class LogStream : std::uint8_t {
  kOut,
  kErr,
  kDrover,      // what Drover itself has to say of the run
  kTranscript,  // what an agent did: lines of JSON, each with a kind
};
inline constexpr int kLogStreamCount = 4;
[[nodiscard]] std::string_view name_of(LogStream stream);  // "stdout", "stderr", "drover", "transcript"
[[nodiscard]] std::optional<LogStream> parse_log_stream(std::string_view name);

struct LogChunk {
  LogStream stream = LogStream::kOut;
  std::string text;
};

struct LogRecord {
  std::int64_t seq = 0;  // within the task; a hole where the middle was left out
  int run = 0;
  Time at{};
  LogStream stream = LogStream::kOut;
  std::string text;
  std::int64_t left_out_before = 0;  // bytes of its run that the cap left out just before it
};

// Which records of a task's log; they come oldest first.
struct LogQuery {
  std::int64_t after = 0;
  std::optional<std::int64_t> before{};  // set: the last `limit` records before this number
  std::optional<int> run{};
  int limit = kPageMax;
};
inline constexpr std::int64_t kLogEnd = INT64_MAX;  // as `before`: the last records that there are

struct LogPage {
  std::vector<LogRecord> records;
  std::int64_t left_out_bytes = 0;  // of the runs on this page: what the cap left out between head and tail
};

struct Config {
  std::int64_t version = 0;  // 0: nothing applied yet
  JsonText document = "{}";  // the shared part of drover.yaml, as canonical JSON
};

// A version of the policy that was in force once, or is.
struct ConfigVersion {
  std::int64_t version = 0;
  Time applied_at{};

  bool operator==(const ConfigVersion&) const = default;
};

struct Finding {
  std::string code;    // "lease_without_task"
  std::string detail;  // which task, what is wrong
  bool repaired = false;
};
enum class FsckMode : std::uint8_t { kCheck, kRepair };

// What is in the queues that a worker serves; see `drover work --until-empty`.
struct Backlog {
  std::int64_t waiting = 0;  // pending, stalled or scheduled
  std::int64_t running = 0;
  std::int64_t blocked = 0;
};

// What an operator does to a gate by hand.
struct GateOrder {
  struct Open {};  // drops every hold but the policy's
  struct Close {
    Time until = kUntilOpened;
  };
  struct Limit {
    std::optional<int> permits;  // absent: no limit by hand any more
  };
  std::string gate;
  std::variant<Open, Close, Limit> what;
  std::string why;
  std::string by;
};

// One thing that is done to many tasks: drover/bulk.h.
class BulkId;
struct BulkOrder;
struct BulkPreview;
struct BulkOperation;
// How long to leave an alert alone.
struct SnoozeOrder {
  std::string key;
  Millis duration{0};  // zero: it wakes up
  Verdict verdict{};
};
inline constexpr Millis kSnoozeMax{30LL * 24 * 3'600'000};

// What a page shows, under a name. The queue does not look into the query.
struct SavedView {
  std::string name;
  std::string query;
  Time updated_at{};

  bool operator==(const SavedView&) const = default;
};
inline constexpr std::size_t kViewsMax = 50;  // of one owner
inline constexpr std::size_t kViewNameBytesMax = 64;
inline constexpr std::size_t kViewQueryBytesMax = 2'048;

// What waits for the next turns of agents' conversations: drover/conversation.h.
class ConversationQueue;

class TaskQueue {
 public:
  virtual ~TaskQueue() = default;

  // Producers. A group is stored whole or not at all; answers come in its order.
  [[nodiscard]] virtual Result<std::vector<Enqueued>> enqueue(std::span<const TaskSpec> group) = 0;
  // Groups that have nothing to do with each other, at the price of one: each gets the answer that enqueue() would
  // give.
  [[nodiscard]] virtual std::vector<Result<std::vector<Enqueued>>> enqueue_groups(
      std::span<const std::span<const TaskSpec>> groups);
  // Children spawned by a running task through its own door.
  [[nodiscard]] virtual Result<std::vector<Enqueued>> spawn(const Lease& spawner, std::span<const TaskSpec> group) = 0;
  [[nodiscard]] virtual Result<Task> get(const TaskId& id) = 0;
  // A task that `child` depends on. kNotFound unless it does. Who runs a task may read its parents, whoever they are.
  [[nodiscard]] virtual Result<Task> parent(const TaskId& child, const TaskId& parent);
  // In the order of ids, without bodies; nothing where there is no such task.
  [[nodiscard]] virtual Result<std::vector<std::optional<Task>>> heads(std::span<const TaskId> ids);
  [[nodiscard]] virtual Result<std::vector<RunSummary>> runs(const TaskId& id) = 0;
  [[nodiscard]] virtual Result<TaskPage> list(const TaskFilter& filter, int limit,
                                              const std::optional<std::string>& cursor) = 0;
  // As list(), for callers that need no bodies: whether the tasks have them is not said.
  [[nodiscard]] virtual Result<TaskPage> list_heads(const TaskFilter& filter, int limit,
                                                    const std::optional<std::string>& cursor) {
    return list(filter, limit, cursor);
  }
  // As list(), without reading what may be large.
  [[nodiscard]] virtual Result<SummaryPage> summaries(const TaskFilter& filter, int limit,
                                                      const std::optional<std::string>& cursor) = 0;
  // What the task depends on, what depends on it, its spawner and its children, and theirs; at most `limit` tasks. With
  // an owner: only that owner's tasks, and only the ways that lead through them.
  [[nodiscard]] virtual Result<TaskGraph> graph(const TaskId& id, const std::optional<std::string>& owner,
                                                int limit) = 0;
  [[nodiscard]] virtual Result<CancelOutcome> cancel(const TaskId& id, const Verdict& verdict) = 0;
  // What cancel() would lead to by the time when everything that runs has stopped, the task itself first. Changes
  // nothing. Of more than 10,000 tasks some may be missing.
  [[nodiscard]] virtual Result<std::vector<CancelEffect>> preview_cancel(const TaskId& id) = 0;
  // Changes a task that waits: blocked, scheduled, pending or stalled. The task afterwards; kWrongState if it runs or
  // has ended, kVersionMismatch if it is not as the caller saw it any more.
  [[nodiscard]] virtual Result<Task> edit(const TaskId& id, const EditOrder& order) = 0;
  // The next generation of a failed or cancelled task; of what its end had ended, too.
  [[nodiscard]] virtual Result<Task> retry(const TaskId& id, const RetryOrder& order) = 0;
  // Events with seq > after, oldest first. An event is never seen before one with a smaller seq.
  [[nodiscard]] virtual Result<std::vector<Event>> events(std::int64_t after, int limit) = 0;
  [[nodiscard]] virtual Result<std::int64_t> last_event_seq() = 0;
  [[nodiscard]] virtual Result<LogPage> log(const TaskId& id, const LogQuery& query) = 0;

  // Workers. Registration is the first beat.
  [[nodiscard]] virtual Status register_worker(const WorkerInfo& worker) = 0;
  [[nodiscard]] virtual Status unregister_worker(const std::string& worker_id, const std::string& reason) = 0;
  [[nodiscard]] virtual Result<std::vector<WorkerInfo>> workers() = 0;
  // Its registration, if there is one. `running` is not counted.
  [[nodiscard]] virtual Result<std::optional<WorkerInfo>> worker(const std::string& worker_id);
  // A server answers kUnknownWorker to one that is not registered: it registers, and claims again.
  [[nodiscard]] virtual Result<std::vector<ClaimedTask>> claim(const ClaimRequest& request) = 0;
  // The worker's beat: renews these leases for `lease` from now.
  [[nodiscard]] virtual Result<Beat> renew(const std::string& worker_id, std::span<const Lease> leases,
                                           Millis lease) = 0;
  [[nodiscard]] virtual Status progress(const Lease& lease, const Progress& progress) = 0;
  [[nodiscard]] virtual Status append_log(const Lease& lease, std::span<const LogChunk> chunks) = 0;
  [[nodiscard]] virtual Status checkpoint(const Lease& lease, const JsonText& value) = 0;
  // What a running agent has used so far, and where its session stands. The answer may be to stop.
  [[nodiscard]] virtual Result<ReportAnswer> report(const Lease& lease, const RunReport& report) = 0;
  // One answer per item: the task's state afterwards, or kStaleLease and the like. One bad item never fails another.
  // A settlement may be repeated: the lease that ended a run gets the same answer again to a call of the same kind,
  // whatever has become of the task since. Runs that ended without their worker have no such answer.
  [[nodiscard]] virtual std::vector<Result<Settled>> settle(std::span<const Settlement> items) = 0;
  // A running task asks. Asked again with the same key, since an operator's retry began the task, it is the same
  // question, with its answer if there is one. kLimitExceeded: it has asked kQuestionsOfTaskMax.
  [[nodiscard]] virtual Result<Question> ask(const Lease& lease, const QuestionSpec& spec) = 0;
  [[nodiscard]] virtual Result<Backlog> backlog(std::span<const Serve> serves) = 0;
  // Takes back now what workers hold that were silent for max_age. With less than a lease that is the caller's word
  // that such a worker and its agents are dead: if they are not, two agents may work on a task. Returns how many tasks
  // became claimable or ended.
  [[nodiscard]] virtual Result<int> requeue_stalled(Millis max_age) = 0;

  // Questions. The first answer wins: kWrongState names it to whoever comes later. An answer that the options or the
  // schema do not allow is kInvalidArgument.
  [[nodiscard]] virtual Result<Question> question(const QuestionId& id) = 0;
  [[nodiscard]] virtual Result<QuestionPage> questions(const QuestionFilter& filter, int limit,
                                                       const std::optional<std::string>& cursor) = 0;
  [[nodiscard]] virtual Result<Question> answer(const QuestionId& id, const AnswerOrder& order) = 0;
  // Nobody need answer it any more: the task goes on without.
  [[nodiscard]] virtual Result<Question> withdraw_question(const QuestionId& id, const Verdict& verdict) = 0;

  // Operators.
  // The worker learns of it with its next beat. kNotFound if there is none of that id.
  [[nodiscard]] virtual Status drain_worker(const DrainOrder& order) = 0;
  // Dead letters by kind, those with the most tasks first. The filter's states do not matter: these are failed tasks.
  [[nodiscard]] virtual Result<std::vector<ErrorGroup>> error_groups(const TaskFilter& filter) = 0;
  // Hands a failed task to somebody. A second time it goes to somebody else.
  [[nodiscard]] virtual Result<Task> escalate(const TaskId& id, const EscalateOrder& order) = 0;
  // Deletes a finished task with all that belongs to it but its events.
  [[nodiscard]] virtual Status remove(const TaskId& id, const Verdict& verdict) = 0;
  // How many tasks an operation would be about. Changes nothing.
  [[nodiscard]] virtual Result<BulkPreview> preview_bulk(const BulkOrder& order) = 0;
  // Starts an operation, which the sweepers of any process carry out. Tasks that are enqueued later are not included.
  [[nodiscard]] virtual Result<BulkOperation> start_bulk(const BulkOrder& order) = 0;
  // Those that run, and the last that ended, newest first.
  [[nodiscard]] virtual Result<std::vector<BulkOperation>> bulk_operations() = 0;
  [[nodiscard]] virtual Result<BulkOperation> bulk_operation(const BulkId& id) = 0;
  // From then on it changes no further task. One that is stopped stays so; kWrongState if it has completed.
  [[nodiscard]] virtual Result<BulkOperation> stop_bulk(const BulkId& id, const Verdict& verdict) = 0;
  // Gates that hold something back or could, by name.
  [[nodiscard]] virtual Result<std::vector<GateStatus>> gates() = 0;
  // Those that tasks of one owner wait at, and the owner's own: waiting tasks are that owner's.
  [[nodiscard]] virtual Result<std::vector<GateStatus>> owner_gates(const std::string& owner) = 0;
  [[nodiscard]] virtual Result<GateStatus> set_gate(const GateOrder& order) = 0;
  // Budgets of gates by the gate's name, with those of owners that obey owner:* and have spent something.
  [[nodiscard]] virtual Result<std::vector<BudgetStatus>> budgets() = 0;
  // Until its period ends. kNotFound: the gate has no such budget.
  [[nodiscard]] virtual Result<BudgetStatus> raise_budget(const RaiseOrder& order) = 0;
  [[nodiscard]] virtual Result<std::vector<QueueStatus>> queues() = 0;
  [[nodiscard]] virtual Result<Stats> stats() = 0;
  // The same of one owner's tasks alone: nothing of workers, gates and alerts, which are everybody's.
  [[nodiscard]] virtual Result<Stats> owner_stats(const std::string& owner) = 0;
  // What happened over time: the last `count` minutes or hours.
  [[nodiscard]] virtual Result<StatsHistory> stats_history(HistoryStep step, int count) = 0;
  // What somebody should look at, as the latest look at the fleet's health found it.
  [[nodiscard]] virtual Result<std::vector<Alert>> alerts() = 0;
  // Those that do not hold any more, newest first; the last kPastAlertsMax are kept.
  [[nodiscard]] virtual Result<std::vector<PastAlert>> past_alerts(int limit) = 0;
  // The alert afterwards. kNotFound if there is none of that key.
  [[nodiscard]] virtual Result<Alert> snooze_alert(const SnoozeOrder& order) = 0;
  // Views that were saved for an owner, or for everybody without one, by name.
  [[nodiscard]] virtual Result<std::vector<SavedView>> views(const std::optional<std::string>& owner) = 0;
  // kLimitExceeded: there are as many as may be.
  [[nodiscard]] virtual Result<SavedView> save_view(const std::optional<std::string>& owner, const SavedView& view) = 0;
  [[nodiscard]] virtual Status delete_view(const std::optional<std::string>& owner, const std::string& name) = 0;
  // Sessions by owner and name, which no other list shows.
  [[nodiscard]] virtual Result<SessionPage> sessions(const SessionQuery& query) = 0;
  // kNotFound: there is none, or it has been idle for so long that it is forgotten.
  [[nodiscard]] virtual Result<SessionInfo> session(const SessionName& name) = 0;
  // The next task of it begins afresh. What runs in it goes on, and leaves nothing behind. The session afterwards.
  [[nodiscard]] virtual Result<SessionInfo> reset_session(const SessionName& name, const Verdict& verdict) = 0;
  // How a task that runs under this lease stands with its provider and its budgets.
  [[nodiscard]] virtual Result<RunStanding> standing_of(const Lease& lease) = 0;
  // What agents used, from the ledger, by name. kInvalidArgument if there are more than kUsageRowsMax rows.
  [[nodiscard]] virtual Result<std::vector<UsageRow>> usage(const UsageQuery& query) = 0;
  // Which store this is: the same for all who use it, and for what its dumps and copies are restored to.
  // docs/internals/store-epochs.md. A remote queue asks only if no answer has told so far; kForbidden: this caller is
  // not told.
  [[nodiscard]] virtual Result<std::string> store_id() = 0;
  // Why a task is not running, and what will release it.
  [[nodiscard]] virtual Result<Explanation> explain(const TaskId& id) = 0;
  // The same for all tasks that wait, or all of one owner, by cause.
  [[nodiscard]] virtual Result<StuckReport> stuck(const std::optional<std::string>& owner) = 0;
  [[nodiscard]] virtual Result<Config> config() = 0;
  // The newest kPageMax, newest first; and the document of one. kNotFound if there is no such version.
  [[nodiscard]] virtual Result<std::vector<ConfigVersion>> config_versions() = 0;
  [[nodiscard]] virtual Result<Config> config_at(std::int64_t version) = 0;
  // Compare-and-set on the version that the change was based on; kWrongState if it moved.
  [[nodiscard]] virtual Result<Config> apply_config(const JsonText& document, std::int64_t based_on_version) = 0;
  [[nodiscard]] virtual Result<std::vector<Finding>> fsck(FsckMode mode) = 0;

  // Lives as long as this queue.
  [[nodiscard]] virtual ConversationQueue& conversation_queue() = 0;

  // Waiting, at the edges. `changes()` grows whenever something was committed by anyone; wait_for_change returns when
  // it differs from `seen`, or after the timeout. May wake early. With a timeout of zero it only looks.
  [[nodiscard]] virtual std::uint64_t changes() = 0;
  virtual void wait_for_change(std::uint64_t seen, Millis timeout) = 0;
  // As wait_for_change, for workers: of many that wait for the same work only some need be woken. May end when `stop`
  // is requested, and then does soon after a commit of this process.
  virtual void wait_for_work(std::span<const Serve> /*serves*/, std::uint64_t seen, Millis timeout,
                             const std::stop_token& /*stop*/) {
    wait_for_change(seen, timeout);
  }

  // Leaves a claim with the queue. `on_answer` is called once it is answered, from any thread; it must neither wait nor
  // call the queue. A claim that stands is a chance of being served sooner, never a promise: who leaves one waits for
  // changes as well. Null, always: this queue has no standing claims.
  [[nodiscard]] virtual Result<std::unique_ptr<StandingClaim<ClaimedTask>>> leave_claim(
      const ClaimRequest& /*request*/, std::function<void()> /*on_answer*/) {
    return nullptr;
  }

  // One-item forms.
  [[nodiscard]] Result<Enqueued> enqueue_one(const TaskSpec& spec);
  [[nodiscard]] Result<Settled> complete(const Lease& lease, Completion completion);
  [[nodiscard]] Result<Settled> fail(const Lease& lease, Failure failure);
  [[nodiscard]] Result<Settled> release(const Lease& lease);
  [[nodiscard]] Result<Settled> suspend(const Lease& lease, Suspend suspend);
  [[nodiscard]] Result<Task> retry(const TaskId& id) { return retry(id, RetryOrder{}); }
  [[nodiscard]] Result<CancelOutcome> cancel(const TaskId& id, const std::string& reason) {
    return cancel(id, Verdict{.why = reason});
  }
  [[nodiscard]] Result<LogPage> log(const TaskId& id, std::int64_t after, int limit) {
    return log(id, LogQuery{.after = after, .limit = limit});
  }
};

}  // namespace drover
