#include "store/sqlite/sqlite_store.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/try.h"
#include "store/high_water.h"
#include "store/sqlite/apply.h"
#include "store/sqlite/change_watch.h"
#include "store/sqlite/claim.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/conversations.h"
#include "store/sqlite/database_path.h"
#include "store/sqlite/epochs.h"
#include "store/sqlite/failure.h"
#include "store/sqlite/fleet.h"
#include "store/sqlite/fsck.h"
#include "store/sqlite/gates.h"
#include "store/sqlite/keyed_claim.h"
#include "store/sqlite/leases.h"
#include "store/sqlite/ledger.h"
#include "store/sqlite/new_task_table.h"
#include "store/sqlite/posix_side_files.h"
#include "store/sqlite/questions.h"
#include "store/sqlite/reads.h"
#include "store/sqlite/record_columns.h"
#include "store/sqlite/restore.h"
#include "store/sqlite/retention.h"
#include "store/sqlite/room.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/standing_claim.h"
#include "store/sqlite/sweeps.h"
#include "store/sqlite/task_log.h"
#include "store/sqlite/writer.h"
#include "store/step_watch.h"

namespace drover {
namespace {

using namespace sqlite;  // NOLINT(google-build-using-namespace): this file is its face

[[noreturn]] void stop_after_sync_failure(const std::string& what) {
  log_error("store", "what was written may not be on disk: stopping", {{"why", what}});
  std::abort();
}

ConnectionOptions connection_options(const SqliteOptions& options) {
  return {options.path.empty() ? ":memory:" : options.path, options.vfs, options.busy_wait, nullptr};
}

constexpr Millis kStopWithin{1'000};  // how soon a worker that waits notices that it is to end

class SqliteStore final : public Store {
 public:
  explicit SqliteStore(SqliteOptions options)
      : options_(std::move(options)),
        side_files_(std::move(options_.side_files)),
        meter_(options_.meter != nullptr ? *options_.meter : own_meter_),
        high_water_(options_.mark_path),
        write_connection_(write_connection_options()) {}
  ~SqliteStore() override;

  [[nodiscard]] Status open();

  Result<Time> now() override { return options_.clock->wall(); }
  Result<StoreClocks> clocks() override {
    const MonoTime before = options_.clock->mono();
    const Time wall = options_.clock->wall();
    const MonoTime after = options_.clock->mono();
    step_watch_.look(wall, before, after);
    return StoreClocks{wall, after.since_origin, options_.clock->boot_id(), after - before};
  }

  Result<std::vector<std::optional<TaskRecord>>> read(std::span<const TaskId> ids, Parts parts) override;
  Result<std::optional<TaskId>> find_request(const std::string& owner, const std::string& request_id) override {
    return reading("sqlite.find_request", [&](Connection& db) { return sqlite::find_request(db, owner, request_id); });
  }
  Result<DedupeMatches> find_dedupe(const std::string& owner, const std::string& type,
                                    const std::string& key) override {
    return reading("sqlite.find_dedupe", [&](Connection& db) { return sqlite::find_dedupe(db, owner, type, key); });
  }
  Result<std::vector<TaskRecord>> dependents(const TaskId& parent) override {
    return reading("sqlite.dependents", [&](Connection& db) { return read_dependents(db, parent); });
  }
  Result<std::vector<TaskRecord>> children(const TaskId& spawner) override {
    return reading("sqlite.children", [&](Connection& db) { return read_children(db, spawner); });
  }
  Result<RecordPage> list(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor,
                          Parts parts) override;
  Result<std::vector<RunSummary>> runs(const TaskId& id, int limit) override {
    return reading("sqlite.runs", [&](Connection& db) { return read_runs(db, id, limit); });
  }
  Result<std::vector<Event>> events(std::int64_t after, int limit) override {
    return reading("sqlite.events", [&](Connection& db) { return read_events(db, after, limit); });
  }
  Result<std::int64_t> last_task_seq() override {
    return reading("sqlite.last_task_seq", [&](Connection& db) { return sqlite::last_task_seq(db); });
  }
  Result<std::int64_t> last_event_seq() override {
    return reading("sqlite.events", [&](Connection& db) { return sqlite::last_event_seq(db); });
  }
  using Store::log;
  Result<LogPage> log(const TaskId& id, const LogQuery& query) override {
    return reading("sqlite.log", [&](Connection& db) { return read_log(db, id, query); });
  }
  Result<Backlog> backlog(std::span<const Serve> serves) override {
    return reading("sqlite.backlog", [&](Connection& db) { return read_backlog(db, serves); });
  }
  Result<std::vector<std::string>> ledger_days() override {
    return reading("sqlite.ledger_days", [](Connection& db) { return sqlite::ledger_days(db); });
  }
  Result<std::vector<SpendEntry>> spend() override {
    return reading("sqlite.spend", [](Connection& db) { return read_spend(db); });
  }
  Result<std::vector<LedgerEntry>> ledger(const std::string& day) override {
    return reading("sqlite.ledger", [&](Connection& db) { return ledger_of(db, day); });
  }

  Result<std::vector<std::optional<QuestionRecord>>> read_questions(std::span<const QuestionId> ids) override {
    return reading("sqlite.questions", [&](Connection& db) {
      std::vector<std::optional<QuestionRecord>> found;
      for (const QuestionId& id : ids) found.push_back(read_question(db, id));
      return found;
    });
  }
  Result<std::vector<QuestionRecord>> questions_of(const TaskId& task) override {
    return reading("sqlite.questions", [&](Connection& db) { return read_questions_of(db, task); });
  }
  Result<QuestionPage> list_questions(const QuestionFilter& filter, int limit,
                                      const std::optional<QuestionId>& before) override {
    return reading("sqlite.questions",
                   [&](Connection& db) { return sqlite::list_questions(db, filter, limit, before); });
  }
  Result<std::vector<QuestionRecord>> open_questions(const std::optional<QuestionId>& after, int limit) override {
    return reading("sqlite.questions", [&](Connection& db) { return read_open_questions(db, after, limit); });
  }
  Result<std::array<std::int64_t, kQuestionStateCount>> count_questions() override {
    return reading("sqlite.questions", [](Connection& db) { return sqlite::count_questions(db); });
  }
  Result<std::int64_t> count_answer_waits(const std::optional<std::string>& owner) override {
    return reading("sqlite.questions", [&](Connection& db) { return sqlite::count_answer_waits(db, owner); });
  }
  Result<std::vector<QuestionRecord>> due_questions(int limit) override {
    return reading("sqlite.questions", [&](Connection& db) { return read_due_questions(db, *options_.clock, limit); });
  }

  Result<std::vector<Applied>> apply(std::span<const StepGroup> groups) override;
  Result<Claimed> claim(const ClaimRequest& request, std::span<const LeaseId> lease_ids,
                        const std::optional<ReservedSlots>& reserved) override;
  Result<Beat> renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) override;
  Result<std::vector<bool>> note(std::span<const Note> notes) override;

  Result<std::vector<GateState>> read_gates(std::span<const std::string> names) override {
    return reading("sqlite.gates", [&](Connection& db) { return read_gate_states(db, names); });
  }
  Result<std::vector<GateState>> gates() override {
    return reading("sqlite.gates", [&](Connection& db) { return read_gate_states(db); });
  }
  Result<std::vector<GateState>> gates_from(const std::string& prefix, const std::string& after, int limit) override {
    return reading("sqlite.gates", [&](Connection& db) { return read_gate_states(db, prefix, after, limit); });
  }
  Result<int> wake_gates() override;
  Result<std::optional<LanePosition>> lane_position(const TaskId& id) override {
    return reading("sqlite.lane_position", [&](Connection& db) { return read_lane_position(db, id); });
  }
  Result<std::vector<QueueCounts>> queues() override {
    return reading("sqlite.queues", [&](Connection& db) { return read_queues(db); });
  }
  Result<std::vector<WaitingLane>> lanes(int limit) override {
    return reading("sqlite.lanes", [&](Connection& db) { return read_lanes(db, limit); });
  }
  Result<std::vector<QueueCounts>> queues_of(const std::string& owner) override {
    return reading("sqlite.queues_of", [&](Connection& db) { return read_queues_of(db, owner); });
  }

  Result<std::vector<TaskRecord>> due(int limit) override {
    return reading("sqlite.due", [&](Connection& db) { return read_due(db, *options_.clock, limit); });
  }
  Result<std::vector<TaskRecord>> past_deadline(int limit) override {
    return reading("sqlite.past_deadline",
                   [&](Connection& db) { return read_past_deadline(db, *options_.clock, limit); });
  }
  Result<std::vector<TaskRecord>> lapsed(std::optional<Millis> silent_for, int limit) override {
    return reading("sqlite.lapsed",
                   [&](Connection& db) { return read_lapsed(db, *options_.clock, silent_for, limit); });
  }
  Result<std::vector<TaskRecord>> cascades(int limit) override {
    return reading("sqlite.cascades", [&](Connection& db) { return read_cascades(db, limit); });
  }
  Result<std::optional<Millis>> next_wake() override {
    return reading("sqlite.next_wake", [&](Connection& db) { return read_next_wake(db, *options_.clock); });
  }
  Result<int> expire(const Retention& retention, int limit) override {
    return writing<int>({&kExpireFailpoints, {}},
                        [&](Transaction& transaction) { return expire_finished(transaction, retention, limit); });
  }

  Status register_worker(const WorkerInfo& worker) override {
    return writer_->run({&kFleetFailpoints, [&](Transaction& transaction) { put_worker(transaction, worker); }});
  }
  Status unregister_worker(const std::string& worker_id, const std::string& reason) override {
    return writer_->run(
        {&kFleetFailpoints, [&](Transaction& transaction) { delete_worker(transaction, worker_id, reason); }});
  }
  Result<bool> drain_worker(const DrainOrder& order) override {
    return writing<bool>({&kFleetFailpoints, {}},
                         [&](Transaction& transaction) { return order_drain(transaction, order); });
  }
  Result<std::vector<WorkerInfo>> workers() override {
    return reading("sqlite.workers", [&](Connection& db) { return read_workers(db, *options_.clock); });
  }
  Result<std::optional<WorkerInfo>> worker(const std::string& worker_id) override {
    return reading("sqlite.worker", [&](Connection& db) { return read_worker(db, worker_id, *options_.clock); });
  }
  Result<std::vector<std::string>> forget_workers(Millis silent_for) override {
    return writing<std::vector<std::string>>({&kFleetFailpoints, {}}, [&](Transaction& transaction) {
      return delete_silent_workers(transaction, silent_for);
    });
  }

  Result<Config> config() override {
    return reading("sqlite.config", [&](Connection& db) { return read_config(db); });
  }
  Result<std::vector<ConfigVersion>> config_versions(int limit) override {
    return reading("sqlite.config_versions", [&](Connection& db) { return read_config_versions(db, limit); });
  }
  Result<std::optional<JsonText>> config_at(std::int64_t version) override {
    return reading("sqlite.config_at", [&](Connection& db) { return read_config_at(db, version); });
  }
  Result<bool> put_config(const JsonText& document, std::int64_t based_on_version, std::span<const GateStep> gates,
                          const Weights& weights) override {
    return writing<bool>({&kFleetFailpoints, {}}, [&](Transaction& transaction) {
      return write_config(transaction, document, based_on_version, gates, weights);
    });
  }

  Status restore(std::span<const DumpedTask> tasks, std::span<const Event> events, std::span<const LedgerEntry> ledger,
                 std::span<const SpendEntry> spend) override;
  Result<bool> restore_epochs(std::span<const Epoch> epochs) override;
  Status restore_config(std::span<const DumpedPolicy> versions) override;
  Result<StoredDocument> document(DocumentKind kind) override {
    return reading("sqlite.document", [&](Connection& db) { return read_document(db, kind); });
  }
  Result<bool> put_document(DocumentKind kind, const JsonText& text, std::int64_t based_on_version,
                            std::span<const EventDraft> events) override {
    return writing<bool>({&kFleetFailpoints, {}}, [&](Transaction& transaction) {
      const DocumentStep step{kind, based_on_version, text, false, {events.begin(), events.end()}};
      if (!sqlite::still_holds(transaction.db(), step)) return false;
      write_document(transaction, step);
      return true;
    });
  }

  Result<std::optional<StoredConversation>> read_conversation(const ConversationName& name) override {
    return reading("sqlite.conversation", [&](Connection& db) { return sqlite::read_conversation(db, name); });
  }
  Result<std::vector<std::optional<JsonText>>> conversation_bodies(const ConversationName& name,
                                                                   std::span<const std::int64_t> numbers) override {
    return reading("sqlite.conversation_bodies",
                   [&](Connection& db) { return read_conversation_bodies(db, name, numbers); });
  }
  Result<std::vector<StoredConversation>> list_conversations(const std::optional<std::string>& owner,
                                                             const ConversationName& after, int limit) override {
    return reading("sqlite.conversations",
                   [&](Connection& db) { return sqlite::list_conversations(db, owner, after, limit); });
  }
  Result<ConversationApplied> put_conversation(const ConversationStep& step) override {
    Operation operation{&kFleetFailpoints, {}};
    operation.need = step.bodies.empty() ? Operation::Need::kMustRun : Operation::Need::kWhenRoom;
    return writing<ConversationApplied>(
        std::move(operation), [&](Transaction& transaction) { return sqlite::put_conversation(transaction, step); });
  }

  Result<std::vector<Finding>> fsck(FsckMode mode) override;

  Status try_write() override;
  Result<StoreState> state() override;
  StoreMark seen() override { return high_water_.store_mark(); }
  Result<bool> hear(const StoreMark& told) override;
  Result<StoreState> accept_regression() override;

  std::uint64_t changes() override { return watch_->changes(); }
  void wait_for_change(std::uint64_t seen, Millis timeout) override { watch_->wait(seen, timeout); }
  void wait_for_work(std::span<const Serve> /*serves*/, std::uint64_t seen, Millis timeout,
                     const std::stop_token& /*stop*/) override {
    watch_->wait(seen, std::min(timeout, kStopWithin));
  }
  Result<std::unique_ptr<StandingClaim<TaskRecord>>> leave_claim(const ClaimRequest& request,
                                                                 std::span<const LeaseId> lease_ids,
                                                                 const std::optional<ReservedSlots>& reserved,
                                                                 std::function<void()> on_answer) override;

 private:
  [[nodiscard]] bool in_memory() const { return options_.path.empty(); }
  [[nodiscard]] Connection& read_connection() { return in_memory() ? write_connection_ : *read_connection_; }
  [[nodiscard]] ConnectionOptions write_connection_options() const;
  [[nodiscard]] Status prepare();
  [[nodiscard]] Status check_files() { return side_files_ != nullptr ? side_files_->check_files() : Status(); }
  [[nodiscard]] WriterOptions writer_options();
  [[nodiscard]] std::int64_t data_version();
  [[nodiscard]] Result<StoreExtent> look(const std::optional<StoreMark>& told = std::nullopt);
  // Whether it is certain that nothing was lost, as far as is known without a look.
  [[nodiscard]] bool is_where_it_was() { return !must_look_ && !high_water_.loss(); }
  void committed(const CommitMark& mark);

  // One snapshot for all statements of `body`.
  template <class Body>
  [[nodiscard]] auto reading(std::string_view operation, Body&& body)
      -> Result<std::invoke_result_t<Body, Connection&>> {
    if (side_files_ != nullptr) {
      TRY(side_files_->known_files());
    }
    return guarded(operation, [&] {
      const std::lock_guard lock(read_mutex_);
      Connection& db = read_connection();
      const RollbackGuard end_of_snapshot(db);
      db.run("BEGIN");
      check_version(db);
      return body(db);
    });
  }

  template <class T, class Body>
  [[nodiscard]] Result<T> writing(Operation operation, Body&& body) {
    T answer{};
    operation.body = [&](Transaction& transaction) { answer = body(transaction); };
    TRY(writer_->run(operation));
    return answer;
  }

  SqliteOptions options_;
  std::unique_ptr<SideFiles> side_files_;
  Meter own_meter_;
  Meter& meter_;
  HighWater high_water_;
  StepWatch step_watch_{"this machine"};
  std::atomic<bool> must_look_{false};  // whether it is still where it has been
  Connection write_connection_;
  std::unique_ptr<Connection> read_connection_;  // none in memory
  std::mutex read_mutex_;                        // of the connection that reads use
  std::unique_ptr<Room> room_;                   // none in memory
  std::unique_ptr<ChangeWatch> watch_;
  std::unique_ptr<Writer> writer_;
  std::unique_ptr<const StandingContext> standing_;
};

ConnectionOptions SqliteStore::write_connection_options() const {
  ConnectionOptions options = connection_options(options_);
  if (options_.meter != nullptr) options.vm_steps = &meter_.vm_steps;
  return options;
}

SqliteStore::~SqliteStore() {
  watch_.reset();
  if (writer_) writer_->checkpoint_at_close();
}

Status SqliteStore::open() {
  add_new_task_table(write_connection_);
  TRY(prepare());
  Connection& db = write_connection_;
  const bool is_full = options_.synchronous == SqliteOptions::Synchronous::kFull;
  db.execute_script(is_full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  db.execute_script("PRAGMA cache_size = -64000; PRAGMA temp_store = MEMORY");
  add_task_views(db);
  if (!in_memory()) {
    read_connection_ = std::make_unique<Connection>(connection_options(options_));
    read_connection_->execute_script("PRAGMA temp_store = MEMORY");
    add_task_views(*read_connection_);
    read_connection_->execute_script("PRAGMA query_only = 1");
    room_ = std::make_unique<Room>(*side_files_, *options_.clock, options_.ballast_bytes);
  }
  watch_ = std::make_unique<ChangeWatch>(side_files_.get(), [this] { return data_version(); });
  writer_ = std::make_unique<Writer>(db, writer_options());
  standing_ = std::make_unique<const StandingContext>(
      StandingContext{*writer_, *options_.clock, [this] { return is_where_it_was(); }});
  TRY(look());
  return side_files_ != nullptr ? side_files_->watch_files() : Status();
}

Result<StoreExtent> SqliteStore::look(const std::optional<StoreMark>& told) {
  TRY(check_files());
  Mark seen = high_water_.seen();
  must_look_ = false;
  auto extent = reading("sqlite.epochs", [](Connection& db) { return read_extent(db); });
  if (extent && told && reveals_loss(*extent, *told)) seen = told->mark;
  if (extent && find_loss(*extent, seen) && would_be_hidden(*extent, seen)) {
    const Status ended =
        writer_->run({&kRepairFailpoints, [&](Transaction& transaction) { end_lost_epoch(transaction, seen); }});
    if (!ended) return std::unexpected(ended.error());
    extent = reading("sqlite.epochs", [](Connection& db) { return read_extent(db); });
  }
  if (extent) high_water_.look(seen, *extent);
  return extent;
}

// Under the lock, so commits come in their order.
void SqliteStore::committed(const CommitMark& mark) {
  watch_->committed();
  const Mark seen = high_water_.seen();
  const std::string_view epoch = mark.epoch_number == seen.number ? std::string_view(seen.epoch) : std::string_view();
  if (!high_water_.saw(seen, epoch, mark.last_event)) must_look_ = true;
}

Status SqliteStore::try_write() {
  Operation operation{&kFleetFailpoints,
                      [](Transaction& transaction) { put_probe(transaction.db(), transaction.now()); }};
  operation.need = Operation::Need::kWhenRoom;
  operation.notice = Operation::Notice::kSilent;
  return writer_->run(operation);
}

Result<StoreState> SqliteStore::state() {
  auto extent = TRY(look());
  auto missing = TRY(reading("sqlite.missing", [](Connection& db) { return missing_in(db); }));
  return StoreState{std::move(extent), high_water_.loss(), std::move(missing)};
}

Result<bool> SqliteStore::hear(const StoreMark& told) {
  if (high_water_.covers(told.mark)) return false;
  TRY(look(told));
  return high_water_.loss().has_value();
}

Result<StoreState> SqliteStore::accept_regression() {
  const auto before = state();
  if (!before) return before;
  const Mark seen = high_water_.seen();
  const Status accepted = writer_->run(
      {&kRepairFailpoints, [&](Transaction& transaction) { accept_loss(transaction, seen, before->loss); }});
  if (!accepted) return std::unexpected(accepted.error());
  auto extent = TRY(look());
  return StoreState{std::move(extent), before->loss};
}

// The lock is only taken if there is something to change: short-lived processes open a busy store without waiting.
Status SqliteStore::prepare() {
  Connection& db = write_connection_;
  const Home home{.boot_id = options_.clock->boot_id(), .file_id = options_.file_id};
  // While another process makes the store, SQLite may refuse even to read it: then this one waits its turn.
  const Result<bool> current = guarded("sqlite.open", [&] { return is_current(db, home); });
  if (current && *current) return {};
  if (side_files_ != nullptr) {
    TRY(side_files_->lock(options_.lock_wait));
  }
  Result<Status> prepared = guarded("sqlite.open", [&] {
    Status status = prepare_schema(db, options_.path);
    if (status) adopt(db, home);
    return status;
  });
  if (side_files_ != nullptr) side_files_->unlock();
  return prepared ? *prepared : Status(std::unexpected(prepared.error()));
}

WriterOptions SqliteStore::writer_options() {
  WriterOptions options;
  options.clock = options_.clock;
  options.side_files = side_files_.get();
  options.room = room_.get();
  options.shared_connection = in_memory() ? &read_mutex_ : nullptr;
  options.lock_wait = options_.lock_wait;
  options.busy_wait = options_.busy_wait;
  options.meter = &meter_;
  options.checkpoint_wal_bytes = options_.checkpoint_wal_bytes;
  options.on_commit = [this](const CommitMark& mark) { committed(mark); };
  options.on_sync_failure = options_.on_sync_failure ? options_.on_sync_failure : stop_after_sync_failure;
  return options;
}

// Asked for as long as somebody waits for changes.
std::int64_t SqliteStore::data_version() {
  const auto version = guarded("sqlite.data_version", [&] {
    const std::lock_guard lock(read_mutex_);
    return read_connection().number("PRAGMA data_version");
  });
  // A database that cannot be read has changed, too: whoever waits finds out what is wrong with it.
  return check_files() ? version.value_or(-1) : -1;
}

Result<std::vector<std::optional<TaskRecord>>> SqliteStore::read(std::span<const TaskId> ids, Parts parts) {
  return reading("sqlite.read", [&](Connection& db) {
    std::vector<std::optional<TaskRecord>> records;
    records.reserve(ids.size());
    for (const TaskId& id : ids) records.push_back(read_task(db, id, parts));
    return records;
  });
}

Result<RecordPage> SqliteStore::list(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor,
                                     Parts parts) {
  auto page = TRY(reading("sqlite.list", [&](Connection& db) { return list_tasks(db, filter, limit, cursor, parts); }));
  return page;
}

Result<std::vector<Applied>> SqliteStore::apply(std::span<const StepGroup> groups) {
  const bool adds = std::ranges::any_of(groups, [](const StepGroup& group) { return group.capacity.has_value(); });
  Operation operation;
  operation.failpoints = adds ? &kEnqueueFailpoints : &kSettleFailpoints;
  operation.need = adds ? Operation::Need::kWhenRoom : Operation::Need::kMustRun;
  return writing<std::vector<Applied>>(std::move(operation),
                                       [&](Transaction& transaction) { return apply_groups(transaction, groups); });
}

Result<Claimed> SqliteStore::claim(const ClaimRequest& request, std::span<const LeaseId> lease_ids,
                                   const std::optional<ReservedSlots>& reserved) {
  CHECK(std::cmp_less_equal(request.n, lease_ids.size()));
  TRY(check_files());
  if (!is_where_it_was()) {
    TRY(look());
    if (const Status there = high_water_.check(); !there) return std::unexpected(there.error());
  }
  // An idle worker finds nothing without taking the lock from those who write.
  const auto ready = TRY(reading("sqlite.claim", [&](Connection& db) {
    return may_answer_more(db, request) || anything_ready(db, request.serves, options_.clock->wall());
  }));
  if (!ready || request.n <= 0) return Claimed();
  return writing<Claimed>({&kClaimFailpoints, {}}, [&](Transaction& transaction) {
    return claim_tasks(transaction, request, lease_ids, reserved);
  });
}

Result<std::unique_ptr<StandingClaim<TaskRecord>>> SqliteStore::leave_claim(
    const ClaimRequest& request, std::span<const LeaseId> lease_ids, const std::optional<ReservedSlots>& reserved,
    std::function<void()> on_answer) {
  CHECK(std::cmp_less_equal(request.n, lease_ids.size()));
  return std::make_unique<SqliteStandingClaim>(
      *standing_, ClaimOrder{request, {lease_ids.begin(), lease_ids.end()}, reserved}, std::move(on_answer));
}

Result<int> SqliteStore::wake_gates() {
  const auto due =
      reading("sqlite.wake_gates", [&](Connection& db) { return is_any_gate_due(db, options_.clock->wall()); });
  if (!due) return std::unexpected(due.error());
  if (!*due) return 0;
  return writing<int>({&kClaimFailpoints, {}},
                      [&](Transaction& transaction) { return sqlite::wake_gates(transaction); });
}

Result<Beat> SqliteStore::renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) {
  Operation operation;
  operation.failpoints = &kRenewFailpoints;
  operation.turn = Operation::Turn::kFirst;
  operation.notice = Operation::Notice::kSilent;
  return writing<Beat>(std::move(operation),
                       [&](Transaction& transaction) { return renew_leases(transaction, worker_id, leases, lease); });
}

Result<std::vector<bool>> SqliteStore::note(std::span<const Note> notes) {
  return writing<std::vector<bool>>({&kNoteFailpoints, {}}, [&](Transaction& transaction) {
    std::vector<bool> live;
    live.reserve(notes.size());
    for (const Note& note : notes) live.push_back(write_note(transaction, note, options_.log_bytes_max));
    return live;
  });
}

Status SqliteStore::restore(std::span<const DumpedTask> tasks, std::span<const Event> events,
                            std::span<const LedgerEntry> ledger, std::span<const SpendEntry> spend) {
  Operation operation{&kRepairFailpoints, {}};
  operation.company = Operation::Company::kAlone;
  operation.need = Operation::Need::kWhenRoom;
  const auto written = writing<bool>(std::move(operation), [&](Transaction& transaction) {
    restore_tasks(transaction, tasks);
    restore_events(transaction, events);
    book(transaction.db(), ledger);
    restore_spend(transaction.db(), spend);
    return true;
  });
  return written ? Status() : Status(std::unexpected(written.error()));
}

Result<bool> SqliteStore::restore_epochs(std::span<const Epoch> epochs) {
  return writing<bool>({&kRepairFailpoints, {}},
                       [&](Transaction& transaction) { return sqlite::restore_epochs(transaction, epochs); });
}

Status SqliteStore::restore_config(std::span<const DumpedPolicy> versions) {
  const auto written = writing<bool>({&kRepairFailpoints, {}}, [&](Transaction& transaction) {
    sqlite::restore_config(transaction, versions);
    return true;
  });
  return written ? Status() : Status(std::unexpected(written.error()));
}

Result<std::vector<Finding>> SqliteStore::fsck(FsckMode mode) {
  if (mode == FsckMode::kRepair) {
    Operation operation{&kRepairFailpoints, {}};
    operation.company = Operation::Company::kAlone;
    return writing<std::vector<Finding>>(std::move(operation),
                                         [&](Transaction& transaction) { return repair_database(transaction); });
  }
  if (in_memory())
    return reading("sqlite.fsck", [&](Connection& db) { return check_database(db, options_.clock->wall()); });
  // On a connection of its own: a check takes long, and readers go on meanwhile.
  return guarded("sqlite.fsck", [&] {
    Connection db(connection_options(options_));
    const RollbackGuard end_of_snapshot(db);
    db.execute_script("PRAGMA temp_store = MEMORY");
    add_task_views(db);
    db.execute_script("BEGIN");
    check_version(db);
    return check_database(db, options_.clock->wall());
  });
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite(SqliteOptions options) {
  if (!options.path.empty() && options.side_files == nullptr) {
    TRY(prepare_path(options.path));
    options.side_files = TRY(open_side_files(options.path, options.ballast_bytes));
    options.mark_path = options.path + "-mark";
    options.file_id = file_id_of(options.path);
  }
  auto opened = guarded("sqlite.open", [&]() -> Result<std::unique_ptr<Store>> {
    auto store = std::make_unique<SqliteStore>(std::move(options));
    TRY(store->open());
    return store;
  });
  if (!opened) return std::unexpected(opened.error());
  return *std::move(opened);
}

}  // namespace drover
