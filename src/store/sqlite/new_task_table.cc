#include "store/sqlite/new_task_table.h"

#include <string>
#include <vector>

#include "store/sqlite/record_columns.h"
#include "store/sqlite/record_row.h"

namespace drover::sqlite {
namespace {

constexpr const char* kPointerType = "drover::NewTask";

// Tells SQLite one value. What is put by reference outlives the statement.
class Answer {
 public:
  explicit Answer(sqlite3_context* context) : context_(context) {}

  void put(std::int64_t value) { sqlite3_result_int64(context_, value); }
  void put(int value) { put(std::int64_t{value}); }
  void put(bool value) { put(std::int64_t{value}); }
  void put(Time time) { put(std::int64_t{time.time_since_epoch().count()}); }
  void put(Millis duration) { put(std::int64_t{duration.count()}); }
  void put(std::string_view text) {
    const char* data = text.empty() ? "" : text.data();
    sqlite3_result_text64(context_, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  void put(const std::string& text) { put(std::string_view(text)); }
  void put(const TaskId& id) { put_bytes(id.bytes()); }
  void put(const LeaseId& id) {
    if (!id.is_none()) put_bytes(id.bytes());
  }
  // What was made for it is copied.
  void put(std::string&& text) {
    sqlite3_result_text64(context_, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  void put(Blob&& blob) { sqlite3_result_blob64(context_, blob.bytes.data(), blob.bytes.size(), SQLITE_TRANSIENT); }
  // What is left out is null.
  template <class T>
  void put(const std::optional<T>& value) {
    if (value) put(*value);
  }
  template <class T>
  void put(std::optional<T>&& value) {
    if (value) put(*std::move(value));
  }

 private:
  void put_bytes(const auto& bytes) { sqlite3_result_blob64(context_, bytes.data(), bytes.size(), SQLITE_STATIC); }

  sqlite3_context* context_;
};

struct Column {
  std::string name;
  void (*answer)(Answer, const NewTask&);
};

template <class Field, std::size_t Number>
void answer_field(Answer out, const NewTask& row) {
  out.put(std::get<Number>(columns_of(Field{}, row.step->next)));
}

// Every column that a new task may fill. What the store itself decides on is in the row.
const std::vector<Column>& columns() {
  static const std::vector<Column> kAll = [] {
    std::vector<Column> made{
        {"seq", [](Answer out, const NewTask& row) { out.put(row.seq); }},
        {"revision", [](Answer out, const NewTask& /*row*/) { out.put(1); }},
        {"place", [](Answer out, const NewTask& row) { out.put(row.place); }},
        {"held_bytes", [](Answer out, const NewTask& row) { out.put(row.held_bytes); }},
        {"lane", [](Answer out, const NewTask& row) { out.put(row.lane); }},
        {"due_at", [](Answer out, const NewTask& row) { out.put(indexed_of(row.step->next).due_at); }},
        {"late_at", [](Answer out, const NewTask& row) { out.put(indexed_of(row.step->next).late_at); }},
        {"cascade_at", [](Answer out, const NewTask& row) { out.put(indexed_of(row.step->next).cascade_at); }},
        {"listed_state", [](Answer out, const NewTask& row) { out.put(indexed_of(row.step->next).listed_state); }},
    };
    const auto is_told_by_field = [](auto field) {
      return !field.template is<&TaskRecord::revision, &TaskRecord::place, &TaskRecord::cascade_due>();
    };
    visit_columns(is_told_by_field, [&](auto field, const std::string& name, auto number) {
      made.push_back({name, answer_field<decltype(field), number>});
    });
    return made;
  }();
  return kAll;
}

std::string declaration() {
  std::string names;
  for (const Column& column : columns()) names += column.name + ", ";
  return "CREATE TABLE new_task (" + names + "rows HIDDEN)";
}

// ---- what SQLite calls

struct Cursor {
  sqlite3_vtab_cursor base;  // SQLite's part comes first
  std::span<const NewTask> tasks;
  std::size_t at;
};

int connect(sqlite3* db, void* /*aux*/, int /*argc*/, const char* const* /*argv*/, sqlite3_vtab** table,
            char** /*error*/) {
  if (const int result = sqlite3_declare_vtab(db, declaration().c_str()); result != SQLITE_OK) return result;
  *table = new sqlite3_vtab{};
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  delete table;
  return SQLITE_OK;
}

// There is one way to go through it: all of it, in order. The rows have to be given.
int best_index(sqlite3_vtab* /*table*/, sqlite3_index_info* info) {
  const int rows = static_cast<int>(columns().size());
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    if (constraint.iColumn != rows || constraint.op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
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
  columns()[static_cast<std::size_t>(column)].answer(Answer(context), cursor.tasks[cursor.at]);
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
