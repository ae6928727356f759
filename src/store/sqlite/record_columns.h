// The fields of a task as columns: a column is named as its field, and SQL that names all of them is made from the
// list.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <tuple>

#include "core/task_fields.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/record_row.h"

namespace drover::sqlite {

// ---- which columns: of table body, in its order, first those of kGiven, then those of kBody; of table task, in its
// order

inline constexpr auto kIsGiven = [](auto field) {
  return field.kIs.kept == FieldKept::kGiven && !field.template is<&Task::id>();
};
inline constexpr auto kIsBody = [](auto field) { return field.kIs.kept == FieldKept::kBody; };
// That a cascade is due is told by the column cascade_at, which an index goes by.
inline constexpr auto kIsMoving = [](auto field) {
  return field.kIs.kept == FieldKept::kMoving && !field.template is<&TaskRecord::cascade_due>();
};
// What steps write as they say it; the rest of what moves follows from what is stored.
inline constexpr auto kIsSet = [](auto field) {
  return kIsMoving(field) &&
         !field.template is<&Task::progress, &TaskRecord::place, &TaskRecord::revision, &TaskRecord::lease_beats>();
};
inline constexpr auto kIsHead = [](auto field) { return !field.kIs.is_large(); };
inline constexpr auto kIsLarge = [](auto field) { return field.kIs.is_large(); };

// What each of many new tasks that are alike has for itself; the rest is bound once, but for the revision, which is 1.
inline constexpr auto kIsOwn = [](auto field) {
  return field.template is<&Task::id, &Task::owner, &Task::payload, &TaskRecord::place>();
};
inline constexpr auto kIsBoundOnce = [](auto field) {
  return !kIsOwn(field) && !field.template is<&TaskRecord::revision>();
};

// ---- what a column holds

struct Blob {
  std::string bytes;
};

// One value for each column; those by reference live as long as the record.
template <class T>
[[nodiscard]] std::tuple<const T&> columns_of(const T& value) {
  return {value};
}
[[nodiscard]] inline std::tuple<int> columns_of(TaskState state) {
  return {static_cast<int>(state)};
}
[[nodiscard]] inline std::tuple<std::string> columns_of(const RetryPolicy& policy) {
  return {text_of(policy)};
}
[[nodiscard]] inline std::tuple<std::string_view> columns_of(OnParentFailure policy) {
  return {name_of(policy)};
}
[[nodiscard]] inline auto columns_of(const std::optional<DedupeMode>& mode) {
  return std::tuple(mode ? std::optional(name_of(*mode)) : std::nullopt);
}
[[nodiscard]] inline auto columns_of(const std::optional<Progress>& progress) {
  return std::tuple(progress ? std::optional(progress->percent) : std::nullopt,
                    progress ? std::optional(std::string_view(progress->message)) : std::nullopt);
}
[[nodiscard]] inline auto columns_of(const std::optional<TaskError>& error) {
  return std::tuple(error ? std::optional(name_of(error->error_class)) : std::nullopt,
                    error ? std::optional(std::string_view(error->message)) : std::nullopt);
}
[[nodiscard]] inline auto columns_of(const std::optional<Escalation>& escalation) {
  return std::tuple(pack_escalation(escalation));
}
[[nodiscard]] inline auto columns_of(const std::optional<LostRun>& lost) {
  return std::tuple(lost ? std::optional(to_text(*lost)) : std::nullopt);
}
[[nodiscard]] inline auto columns_of(const std::vector<std::string>& tags) {
  return std::tuple(pack_names(tags));
}
[[nodiscard]] inline auto columns_of(const std::vector<TaskId>& ids) {
  auto packed = pack_ids(ids);
  return std::tuple(packed ? std::optional(Blob{*std::move(packed)}) : std::nullopt);
}
template <class Field>
[[nodiscard]] auto columns_of(Field field, const TaskRecord& record) {
  if constexpr (field.template is<&Task::gates>()) {
    return std::tuple(join_gates(field.of(record)));
  } else {
    return columns_of(field.of(record));
  }
}

// What follows a field's name in the names of its columns.
template <class Value>
inline constexpr std::array<std::string_view, 1> kSuffixes{""};
template <>
inline constexpr std::array<std::string_view, 2> kSuffixes<std::optional<Progress>>{"_percent", "_message"};
template <>
inline constexpr std::array<std::string_view, 2> kSuffixes<std::optional<TaskError>>{"_class", "_message"};

// Calls `visit` with the field, the name of a column and its number among the field's own.
template <class IsWanted, class Visit>
void visit_columns(IsWanted /*is_wanted*/, Visit visit) {
  visit_task_fields([&](auto field) {
    if constexpr (IsWanted{}(field)) {
      constexpr auto& kOwn = kSuffixes<typename decltype(field)::Value>;
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (visit(field, std::string(field.name()).append(kOwn[I]), std::integral_constant<std::size_t, I>()), ...);
      }(std::make_index_sequence<kOwn.size()>());
    }
  });
}

// Binds the columns of these fields, in their order.
template <class IsWanted>
void bind_columns(Statement& statement, const TaskRecord& record, IsWanted /*is_wanted*/) {
  visit_task_fields([&](auto field) {
    if constexpr (IsWanted{}(field)) {
      std::apply([&](const auto&... column) { statement.bind(column...); }, columns_of(field, record));
    }
  });
}

// SQL in which these stand for lists of columns:
//   {given} {body} {moving} {head} {large}  their names
//   {set}            "name = ?1, …" of what steps write as they say it
//   {like_given} {like_moving}  of tasks that are alike: the names of what each has for itself, 1 for the revision, and
//                    ?2, … for the rest
//   {body_bytes}     what the columns of {body} take, all together
[[nodiscard]] std::string with_columns(std::string_view sql);

// Makes the views head and record known to a connection, on which temp_store has been set: a task without what may be
// large, and a whole one with held_bytes, last_run and lane. As read_head() and read_all() read them, behind seq.
void add_task_views(Connection& db);

}  // namespace drover::sqlite
