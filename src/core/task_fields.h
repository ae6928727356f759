// Every field of a task, once: its name, what it holds, who sets it and how it is kept. The task's JSON, the wire,
// dumps, both stores, the checks of a request, its fingerprint and copies of tasks are made from this list.
// docs/internals/adding-things.md says how to add one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "core/spec_check.h"
#include "core/task_record.h"
#include "drover/task.h"

namespace drover {

// Who writes a field, and whether it is read with every record.
enum class FieldKept : std::uint8_t {
  kGiven,   // at enqueue; with every record
  kMoving,  // by steps; with every record
  kBody,    // at enqueue, or by an edit; may be large, so only with whole records
  kOutput,  // by runs; may be large, so only with whole records
};

// What its type does not say of a field.
enum class FieldKind : std::uint8_t {
  kValue,
  kName,   // as is_name() has it
  kLabel,  // short text
  kText,   // text as long as a payload
  kJson,   // compact JSON text
};

struct FieldTraits {
  FieldKept kept = FieldKept::kGiven;
  FieldKind kind = FieldKind::kValue;
  Bounds bounds{};     // of a number that callers set
  bool plain = false;  // kept and shown, nothing else: no index, gate or count goes by it
  bool same = true;    // whether a request that comes again must say the same
  bool dumped = true;  // false: it means something in one store only

  [[nodiscard]] constexpr bool is_large() const { return kept == FieldKept::kBody || kept == FieldKept::kOutput; }
};

template <std::size_t Size>
struct FieldName {
  consteval FieldName(const char (&literal)[Size + 1]) {  // NOLINT(google-explicit-constructor)
    std::copy_n(literal, Size, text.begin());
  }

  std::array<char, Size> text{};
};
template <std::size_t SizeWithEnd>
FieldName(const char (&)[SizeWithEnd]) -> FieldName<SizeWithEnd - 1>;

template <class Pointer>
struct PointedMember;
template <class OwnerType, class ValueType>
struct PointedMember<ValueType OwnerType::*> {
  using Owner = OwnerType;
  using Value = ValueType;
};

// One field, as an empty type, so that all about it is constant. `Member` is the member of Task, which everybody sees,
// or of TaskRecord, which the rules and the stores see. `Asked` is the member of TaskSpec by which callers set it;
// without one it is the engine's.
template <FieldName Name, auto Member, FieldTraits Traits, auto Asked = nullptr>
struct TaskField {
  using Pointed = PointedMember<decltype(Member)>;
  using Value = typename Pointed::Value;

  static constexpr FieldTraits kIs = Traits;
  static constexpr bool kIsPublic = std::is_same_v<typename Pointed::Owner, Task>;
  static constexpr bool kIsAsked = !std::is_null_pointer_v<decltype(Asked)>;

  // In JSON, dumps, SQLite's columns and Redis alike.
  [[nodiscard]] static constexpr std::string_view name() { return {Name.text.data(), Name.text.size()}; }
  // Of a Task or a TaskRecord, const or not.
  template <class Record>
  [[nodiscard]] static constexpr auto& of(Record& record) {
    if constexpr (kIsPublic && std::is_same_v<std::remove_const_t<Record>, TaskRecord>) {
      return record.task.*Member;
    } else {
      return record.*Member;
    }
  }
  template <class Spec>
  [[nodiscard]] static constexpr auto& asked(Spec& spec) {
    return spec.*Asked;
  }
  // Whether it is one of these members.
  template <auto... Members>
  [[nodiscard]] static constexpr bool is() {
    return (is_member<Members>() || ...);
  }

 private:
  template <auto Other>
  [[nodiscard]] static constexpr bool is_member() {
    if constexpr (std::is_same_v<decltype(Other), decltype(Member)>) {
      return Other == Member;
    } else {
      return false;
    }
  }
};

namespace field {

inline constexpr FieldTraits kGiven{};
inline constexpr FieldTraits kGivenName{.kind = FieldKind::kName};
inline constexpr FieldTraits kGivenPlainly{.plain = true};
inline constexpr FieldTraits kMoving{.kept = FieldKept::kMoving};
inline constexpr FieldTraits kMovingName{.kept = FieldKept::kMoving, .kind = FieldKind::kName};
inline constexpr FieldTraits kMovingPlainly{.kept = FieldKept::kMoving, .plain = true};
inline constexpr FieldTraits kLocal{.kept = FieldKept::kMoving, .dumped = false};
inline constexpr FieldTraits kList{.kept = FieldKept::kBody};
inline constexpr FieldTraits kLabel{.kept = FieldKept::kBody, .kind = FieldKind::kLabel, .plain = true};
inline constexpr FieldTraits kText{.kept = FieldKept::kBody, .kind = FieldKind::kText, .plain = true};
inline constexpr FieldTraits kJson{.kept = FieldKept::kBody, .kind = FieldKind::kJson, .plain = true};
inline constexpr FieldTraits kGivenJson{.kind = FieldKind::kJson, .plain = true};
inline constexpr FieldTraits kMovingJson{.kept = FieldKept::kMoving, .kind = FieldKind::kJson};
inline constexpr FieldTraits kOutput{.kept = FieldKept::kOutput, .kind = FieldKind::kJson};
inline constexpr FieldTraits kRef{.kind = FieldKind::kName, .plain = true, .same = false};
inline constexpr FieldTraits kRequestId{.kind = FieldKind::kName, .same = false};
inline constexpr FieldTraits kTrace{.kept = FieldKept::kBody, .kind = FieldKind::kLabel, .plain = true, .same = false};
inline constexpr FieldTraits kPriority{.kept = FieldKept::kMoving, .bounds = kPriorityBounds};
inline constexpr FieldTraits kCost{.bounds = kCostBounds};

consteval FieldTraits limit(Bounds bounds) {
  return {.bounds = bounds, .plain = true};
}

}  // namespace field

// In the order of the task's JSON; what is not shown comes last.
inline constexpr std::tuple kTaskFields{
    TaskField<"id", &Task::id, field::kGiven, &TaskSpec::id>{},
    TaskField<"type", &Task::type, field::kGivenName, &TaskSpec::type>{},
    TaskField<"queue", &Task::queue, field::kGivenName, &TaskSpec::queue>{},
    TaskField<"owner", &Task::owner, field::kGivenName, &TaskSpec::owner>{},
    TaskField<"state", &Task::state, field::kMoving>{},
    TaskField<"priority", &Task::priority, field::kPriority, &TaskSpec::priority>{},
    TaskField<"payload", &Task::payload, field::kJson, &TaskSpec::payload>{},
    TaskField<"prompt", &Task::prompt, field::kText, &TaskSpec::prompt>{},
    TaskField<"system_prompt", &Task::system_prompt, field::kText, &TaskSpec::system_prompt>{},
    TaskField<"model", &Task::model, field::kLabel, &TaskSpec::model>{},
    TaskField<"repo", &Task::repo, field::kLabel, &TaskSpec::repo>{},
    TaskField<"base", &Task::base, field::kLabel, &TaskSpec::base>{},
    TaskField<"agent_id", &Task::agent_id, field::kLabel, &TaskSpec::agent_id>{},
    TaskField<"source", &Task::source, field::kLabel, &TaskSpec::source>{},
    TaskField<"tags", &Task::tags, field::kList, &TaskSpec::tags>{},
    TaskField<"parent_id", &Task::parent_id, field::kGiven, &TaskSpec::parent_id>{},
    TaskField<"depends_on", &Task::depends_on, field::kList, &TaskSpec::depends_on>{},
    TaskField<"ref", &Task::ref, field::kRef, &TaskSpec::ref>{},
    TaskField<"request_id", &Task::request_id, field::kRequestId, &TaskSpec::request_id>{},
    TaskField<"dedupe_key", &Task::dedupe_key, field::kGivenName, &TaskSpec::dedupe_key>{},
    TaskField<"run_at", &Task::run_at, field::kMoving, &TaskSpec::run_at>{},
    TaskField<"created_at", &Task::created_at, field::kGivenPlainly>{},
    TaskField<"started_at", &Task::started_at, field::kMoving>{},
    TaskField<"finished_at", &Task::finished_at, field::kMoving>{},
    TaskField<"run", &Task::run, field::kMoving>{},
    TaskField<"attempts", &Task::attempts, field::kMoving>{},
    TaskField<"max_attempts", &Task::max_attempts, field::limit(kMaxAttemptsBounds), &TaskSpec::max_attempts>{},
    TaskField<"stalls", &Task::stalls, field::kMoving>{},
    TaskField<"defers", &Task::defers, field::kMoving>{},
    TaskField<"suspends", &Task::suspends, field::kMoving>{},
    TaskField<"open_questions", &Task::open_questions, field::kMoving>{},
    TaskField<"retry", &Task::retry, field::kGivenPlainly, &TaskSpec::retry>{},
    TaskField<"timeout_ms", &Task::timeout, field::kMovingPlainly, &TaskSpec::timeout>{},
    TaskField<"idle_timeout_ms", &Task::idle_timeout, field::kGivenPlainly, &TaskSpec::idle_timeout>{},
    TaskField<"deadline_at", &Task::deadline_at, field::kMoving, &TaskSpec::deadline_at>{},
    TaskField<"max_stalls", &Task::max_stalls, field::limit(kMaxStallsBounds), &TaskSpec::max_stalls>{},
    TaskField<"max_defers", &Task::max_defers, field::limit(kMaxDefersBounds), &TaskSpec::max_defers>{},
    TaskField<"max_suspends", &Task::max_suspends, field::limit(kMaxSuspendsBounds), &TaskSpec::max_suspends>{},
    TaskField<"on_parent_failure", &Task::on_parent_failure, field::kGivenPlainly, &TaskSpec::on_parent_failure>{},
    TaskField<"at_most_once", &Task::at_most_once, field::kGivenPlainly, &TaskSpec::at_most_once>{},
    TaskField<"templates", &Task::templates, field::kGivenPlainly, &TaskSpec::templates>{},
    TaskField<"fallback_result", &Task::fallback_result, field::kJson, &TaskSpec::fallback_result>{},
    TaskField<"bootstrap", &Task::bootstrap, field::kJson, &TaskSpec::bootstrap>{},
    TaskField<"budget", &Task::budget, field::kGivenJson, &TaskSpec::budget>{},
    TaskField<"tree_budget", &Task::tree_budget, field::kGivenJson, &TaskSpec::tree_budget>{},
    TaskField<"checkpoint", &Task::checkpoint, field::kOutput>{},
    TaskField<"generation", &Task::generation, field::kMoving>{},
    TaskField<"dedupe", &Task::dedupe, field::kGiven, &TaskSpec::dedupe>{},
    TaskField<"gates", &Task::gates, field::kGiven>{},
    TaskField<"cost", &Task::cost, field::kCost, &TaskSpec::cost>{},
    TaskField<"progress", &Task::progress, field::kMoving>{},
    TaskField<"worker_id", &Task::worker_id, field::kMovingName>{},
    TaskField<"cancel_requested_at", &Task::cancel_requested_at, field::kMoving>{},
    TaskField<"result", &Task::result, field::kOutput>{},
    TaskField<"fallback", &Task::fallback, field::kMoving>{},
    TaskField<"error", &Task::error, field::kMoving>{},
    TaskField<"exit_code", &Task::exit_code, field::kMoving>{},
    TaskField<"escalation", &Task::escalation, field::kMoving>{},
    TaskField<"usage", &Task::usage, field::kMovingJson>{},
    TaskField<"cancel_reason", &Task::cancel_reason, field::kMoving>{},
    TaskField<"agent", &Task::agent, field::kMovingJson>{},
    TaskField<"next", &Task::next, field::kMovingJson>{},
    TaskField<"traceparent", &Task::traceparent, field::kTrace, &TaskSpec::traceparent>{},
    TaskField<"request_hash", &TaskRecord::request_hash, field::kGiven>{},
    TaskField<"depth", &TaskRecord::depth, field::kGivenPlainly>{},
    TaskField<"spawner_generation", &TaskRecord::spawner_generation, field::kGivenPlainly>{},
    TaskField<"deadline_ms", &TaskRecord::deadline, field::kGiven>{},
    TaskField<"place", &TaskRecord::place, field::kMoving>{},
    TaskField<"unmet_parents", &TaskRecord::unmet_parents, field::kMoving>{},
    TaskField<"asked", &TaskRecord::asked, field::kMoving>{},
    TaskField<"awaited", &TaskRecord::awaited, field::kMoving>{},
    TaskField<"first_generation", &TaskRecord::first_generation, field::kMoving>{},
    TaskField<"dependents", &TaskRecord::dependents, field::kMoving>{},
    TaskField<"children", &TaskRecord::children, field::kMoving>{},
    TaskField<"ended_by", &TaskRecord::ended_by, field::kMoving>{},
    TaskField<"cascade_due", &TaskRecord::cascade_due, field::kMoving>{},
    TaskField<"answered_run", &TaskRecord::answered_run, field::kMoving>{},
    TaskField<"run_usage", &TaskRecord::run_usage, field::kMovingJson>{},
    TaskField<"ended_usage", &TaskRecord::ended_usage, field::kMovingJson>{},
    TaskField<"run_budget", &TaskRecord::run_budget, field::kMovingJson>{},
    TaskField<"revision", &TaskRecord::revision, field::kLocal>{},
    TaskField<"lease", &TaskRecord::lease, field::kLocal>{},
    TaskField<"lease_beats", &TaskRecord::lease_beats, field::kLocal>{},
    TaskField<"lost_run", &TaskRecord::lost, field::kLocal>{},
};

// What a duration is called where its unit goes with it ("30s"): its name without the unit.
[[nodiscard]] constexpr std::string_view without_unit(std::string_view name) {
  constexpr std::string_view kMillisSuffix = "_ms";
  return name.ends_with(kMillisSuffix) ? name.substr(0, name.size() - kMillisSuffix.size()) : name;
}

// Calls `visit` with each field in turn.
template <class Visit>
constexpr void visit_task_fields(Visit visit) {
  std::apply([&](auto... field) { (visit(field), ...); }, kTaskFields);
}

// Whether every field that `is_carried` does not name is as in a record that says nothing. A fast path asks this with
// what it carries, so that a field which it does not know makes it slow, not wrong.
template <class IsCarried>
[[nodiscard]] bool is_bare_beside(const TaskRecord& record, IsCarried /*is_carried*/) {
  static const TaskRecord kBare;
  const auto is_bare = [&](auto field) {
    if constexpr (IsCarried{}(field)) {
      return true;
    } else {
      return field.of(record) == field.of(kBare);
    }
  };
  return std::apply([&](auto... field) { return (is_bare(field) && ...); }, kTaskFields);
}

// What the end of a run leaves as it is, with every index that goes by it.
template <class Field>
constexpr bool is_left_at_end(Field field) {
  return field.kIs.plain ||
         field.template is<&Task::id, &Task::type, &Task::queue, &Task::owner, &Task::priority, &Task::tags,
                           &Task::parent_id, &Task::depends_on, &Task::request_id, &Task::dedupe, &Task::gates,
                           &Task::cost, &Task::run_at, &Task::started_at, &Task::run, &Task::attempts,
                           &TaskRecord::request_hash, &TaskRecord::place, &TaskRecord::unmet_parents,
                           &TaskRecord::dependents, &TaskRecord::children>();
}

}  // namespace drover
