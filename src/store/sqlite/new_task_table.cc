#include "store/sqlite/new_task_table.h"

#include <string>

#include "store/sqlite/record_row.h"

namespace drover::sqlite {
namespace {

constexpr const char* kPointerType = "drover::NewTask";

// In the order of kDeclaration.
enum Column : int {
  kSeq,
  kId,
  kState,
  kPriority,
  kRunAt,
  kDeadlineAt,
  kTimeout,
  kUnmetParents,
  kDependents,
  kChildren,
  kPlace,
  kHeldBytes,
  kLane,
  kDueAt,
  kLateAt,
  kListedState,
  kType,
  kQueue,
  kOwner,
  kParentId,
  kRequestId,
  kRequestHash,
  kCreatedAt,
  kRetry,
  kOnParentFailure,
  kAtMostOnce,
  kDepth,
  kDeadlineSpan,
  kMaxAttempts,
  kMaxStalls,
  kMaxDefers,
  kIdleTimeout,
  kDedupeKey,
  kDedupe,
  kCost,
  kGates,
  kPayload,
  kPrompt,
  kSystemPrompt,
  kModel,
  kAgentId,
  kSource,
  kTraceparent,
  kFallbackResult,
  kTags,
  kDependsOn,
  kRows,
};

constexpr const char* kDeclaration =
    "CREATE TABLE new_task (seq, id, state, priority, run_at, deadline_at, timeout_ms, unmet_parents, dependents,"
    " children, place, held_bytes, lane, due_at, late_at, listed_state, type, queue, owner, parent_id, request_id,"
    " request_hash, created_at, retry, on_parent_failure, at_most_once, depth, deadline_ms, max_attempts, max_stalls,"
    " max_defers, idle_timeout_ms, dedupe_key, dedupe, cost, gates, payload, prompt, system_prompt, model, agent_id,"
    " source, traceparent, fallback_result, tags, depends_on, rows HIDDEN)";

// Tells SQLite one value. What is put by reference outlives the statement.
class Answer {
 public:
  explicit Answer(sqlite3_context* context) : context_(context) {}

  void put(std::int64_t value) { sqlite3_result_int64(context_, value); }
  void put(Time time) { put(std::int64_t{time.time_since_epoch().count()}); }
  void put(Millis duration) { put(std::int64_t{duration.count()}); }
  void put(std::string_view text) {
    const char* data = text.empty() ? "" : text.data();
    sqlite3_result_text64(context_, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  void put(const std::string& text) { put(std::string_view(text)); }
  void put(const TaskId& id) { sqlite3_result_blob64(context_, id.bytes().data(), id.bytes().size(), SQLITE_STATIC); }
  // What is left out is null.
  template <class T>
  void put(const std::optional<T>& value) {
    if (value) put(*value);
  }
  void put_copy(const std::string& text) {
    sqlite3_result_text64(context_, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  void put_copy(const std::optional<std::string>& text) {
    if (text) put_copy(*text);
  }
  void put_blob_copy(const std::optional<std::string>& bytes) {
    if (bytes) sqlite3_result_blob64(context_, bytes->data(), bytes->size(), SQLITE_TRANSIENT);
  }

 private:
  sqlite3_context* context_;
};

void answer_body(Answer out, const TaskRecord& record, int column) {
  const Task& task = record.task;
  switch (column) {
    case kType:
      return out.put(task.type);
    case kQueue:
      return out.put(task.queue);
    case kOwner:
      return out.put(task.owner);
    case kParentId:
      return out.put(task.parent_id);
    case kRequestId:
      return out.put(task.request_id);
    case kRequestHash:
      return out.put(record.request_hash);
    case kCreatedAt:
      return out.put(task.created_at);
    case kRetry:
      return out.put_copy(text_of(task.retry));
    case kOnParentFailure:
      return out.put(name_of(task.on_parent_failure));
    case kAtMostOnce:
      return out.put(std::int64_t{task.at_most_once});
    case kDepth:
      return out.put(std::int64_t{record.depth});
    case kDeadlineSpan:
      return out.put(record.deadline_span);
    case kMaxAttempts:
      return out.put(std::int64_t{task.max_attempts});
    case kMaxStalls:
      return out.put(std::int64_t{task.max_stalls});
    case kMaxDefers:
      return out.put(std::int64_t{task.max_defers});
    case kIdleTimeout:
      return out.put(task.idle_timeout);
    case kDedupeKey:
      return out.put(task.dedupe_key);
    case kDedupe:
      if (task.dedupe) out.put(name_of(*task.dedupe));
      return;
    case kCost:
      return out.put(task.cost);
    case kGates:
      return out.put_copy(join_gates(task.gates));
    case kPayload:
      return out.put(task.payload);
    case kPrompt:
      return out.put(task.prompt);
    case kSystemPrompt:
      return out.put(task.system_prompt);
    case kModel:
      return out.put(task.model);
    case kAgentId:
      return out.put(task.agent_id);
    case kSource:
      return out.put(task.source);
    case kTraceparent:
      return out.put(task.traceparent);
    case kFallbackResult:
      return out.put(task.fallback_result);
    case kTags:
      return out.put_copy(pack_names(task.tags));
    case kDependsOn:
      return out.put_blob_copy(pack_ids(task.depends_on));
    default:
      return;
  }
}

void answer(Answer out, const NewTask& row, int column) {
  const TaskRecord& record = row.step->next;
  const Task& task = record.task;
  switch (column) {
    case kSeq:
      return out.put(row.seq);
    case kId:
      return out.put(task.id);
    case kState:
      return out.put(static_cast<std::int64_t>(task.state));
    case kPriority:
      return out.put(std::int64_t{task.priority});
    case kRunAt:
      return out.put(task.run_at);
    case kDeadlineAt:
      return out.put(task.deadline_at);
    case kTimeout:
      return out.put(task.timeout);
    case kUnmetParents:
      return out.put(std::int64_t{record.unmet_parents});
    case kDependents:
      return out.put(std::int64_t{record.dependents});
    case kChildren:
      return out.put(std::int64_t{record.children});
    case kPlace:
      return out.put(row.place);
    case kHeldBytes:
      return out.put(row.held_bytes);
    case kLane:
      return out.put(row.lane);
    case kDueAt:
      return out.put(indexed_of(record).due_at);
    case kLateAt:
      return out.put(indexed_of(record).late_at);
    case kListedState:
      return out.put(indexed_of(record).listed_state);
    default:
      return answer_body(out, record, column);
  }
}

// ---- what SQLite calls

struct Cursor {
  sqlite3_vtab_cursor base;  // SQLite's part comes first
  std::span<const NewTask> tasks;
  std::size_t at;
};

int connect(sqlite3* db, void* /*aux*/, int /*argc*/, const char* const* /*argv*/, sqlite3_vtab** table,
            char** /*error*/) {
  if (const int result = sqlite3_declare_vtab(db, kDeclaration); result != SQLITE_OK) return result;
  *table = new sqlite3_vtab{};
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  delete table;
  return SQLITE_OK;
}

// There is one way to go through it: all of it, in order. The rows have to be given.
int best_index(sqlite3_vtab* /*table*/, sqlite3_index_info* info) {
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    if (constraint.iColumn != kRows || constraint.op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
    if (constraint.usable == 0) return SQLITE_CONSTRAINT;
    info->aConstraintUsage[i].argvIndex = 1;
    info->aConstraintUsage[i].omit = 1;
    info->estimatedCost = 1'000;
    info->estimatedRows = 1'000;
    return SQLITE_OK;
  }
  return SQLITE_CONSTRAINT;
}

int open(sqlite3_vtab* /*table*/, sqlite3_vtab_cursor** cursor) {
  *cursor = &(new Cursor{})->base;
  return SQLITE_OK;
}

Cursor& cursor_of(sqlite3_vtab_cursor* cursor) {
  return *reinterpret_cast<Cursor*>(cursor);
}

int close(sqlite3_vtab_cursor* cursor) {
  delete &cursor_of(cursor);
  return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* base, int /*number*/, const char* /*name*/, int argc, sqlite3_value** argv) {
  const void* rows = argc == 1 ? sqlite3_value_pointer(argv[0], kPointerType) : nullptr;
  if (rows == nullptr) return SQLITE_MISUSE;
  Cursor& cursor = cursor_of(base);
  cursor.tasks = *static_cast<const std::span<const NewTask>*>(rows);
  cursor.at = 0;
  return SQLITE_OK;
}

int next(sqlite3_vtab_cursor* cursor) {
  ++cursor_of(cursor).at;
  return SQLITE_OK;
}

int eof(sqlite3_vtab_cursor* cursor) {
  return cursor_of(cursor).at >= cursor_of(cursor).tasks.size() ? 1 : 0;
}

int column(sqlite3_vtab_cursor* base, sqlite3_context* context, int column) {
  const Cursor& cursor = cursor_of(base);
  answer(Answer(context), cursor.tasks[cursor.at], column);
  return SQLITE_OK;
}

int row_id(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = static_cast<sqlite3_int64>(cursor_of(cursor).at);
  return SQLITE_OK;
}

constexpr sqlite3_module kModule = [] {
  sqlite3_module module{};
  module.xConnect = connect;
  module.xDisconnect = disconnect;
  module.xBestIndex = best_index;
  module.xOpen = open;
  module.xClose = close;
  module.xFilter = filter;
  module.xNext = next;
  module.xEof = eof;
  module.xColumn = column;
  module.xRowid = row_id;
  return module;
}();

}  // namespace

void add_new_task_table(Connection& db) {
  const int result = sqlite3_create_module(db.handle(), "new_task", &kModule, nullptr);
  if (result != SQLITE_OK) throw_failure(db.handle(), result, "new_task");
}

void bind_rows(Statement& statement, std::span<const NewTask>& tasks) {
  statement.bind_pointer(&tasks, kPointerType);
}

}  // namespace drover::sqlite
