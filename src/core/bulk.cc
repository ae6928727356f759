#include "core/bulk.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/json.h"
#include "base/try.h"
#include "core/names.h"
#include "core/spec_check.h"
#include "core/task_filter.h"

namespace drover {
namespace {

constexpr Names<kBulkVerbCount> kVerbs{"cancel", "retry", "edit", "escalate", "delete"};
constexpr Names<3> kStates{"running", "stopped", "completed"};

using enum TaskState;
constexpr std::array kUnfinished{kBlocked, kScheduled, kPending, kRunning, kStalled};
constexpr std::array kWaiting{kBlocked, kScheduled, kPending, kStalled};
constexpr std::array kDeadLetters{kFailed};
constexpr std::array kRetryable{kFailed, kCancelled};
constexpr std::array kFinished{kCompleted, kFailed, kCancelled};

std::span<const TaskState> states_allowed(BulkVerb verb) {
  switch (verb) {
    case BulkVerb::kCancel:
      return kUnfinished;
    case BulkVerb::kEdit:
      return kWaiting;
    case BulkVerb::kRetry:
      return kRetryable;
    case BulkVerb::kEscalate:
      return kDeadLetters;
    case BulkVerb::kDelete:
      return kFinished;
  }
  return {};
}

bool is_about_ended(BulkVerb verb) {
  return verb == BulkVerb::kRetry || verb == BulkVerb::kEscalate || verb == BulkVerb::kDelete;
}

std::unexpected<Error> bad(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

Status check_ids(const std::vector<TaskId>& ids) {
  if (ids.size() > kBulkIdsMax) {
    return bad(fmt::format("ids: at most {} in one operation, not {}; use a filter", kBulkIdsMax, ids.size()));
  }
  if (std::set(ids.begin(), ids.end()).size() != ids.size()) return bad("ids: one of them is there twice");
  return {};
}

Status check_which(const BulkOrder& order) {
  if (order.filter.has_value() == !order.ids.empty()) return bad("say which tasks: give either a filter or ids");
  if (!order.filter) return check_ids(order.ids);
  TRY(check_filter(*order.filter));
  for (const TaskState state : order.filter->states) {
    if (applies_to(order.verb, state)) continue;
    return bad(fmt::format("state: {} does not apply to {} tasks", name_of(order.verb), name_of(state)));
  }
  return {};
}

Status check_size(std::string_view field, const std::optional<JsonText>& text) {
  if (!text || text->size() <= kBulkPayloadBytesMax) return {};
  return fail(ErrorCode::kPayloadTooLarge, fmt::format("{}: a bulk operation carries at most {} bytes, not {}", field,
                                                       kBulkPayloadBytesMax, text->size()));
}

Status check_payloads(const std::optional<JsonText>& payload, const std::optional<JsonText>& patch) {
  TRY(check_one_payload(payload, patch));
  TRY(check_size("payload", payload));
  return check_size("patch", patch);
}

Status check_parameters(const BulkOrder& order) {
  const auto is_of = [&](BulkVerb verb, bool given, std::string_view name) -> Status {
    if (!given || order.verb == verb) return {};
    return bad(fmt::format("{}: does not go with {}", name, name_of(order.verb)));
  };
  TRY(is_of(BulkVerb::kRetry, order.retry.has_value(), "retry"));
  TRY(is_of(BulkVerb::kEdit, order.edit.has_value(), "edit"));
  TRY(is_of(BulkVerb::kEscalate, !order.to.empty(), "to"));
  if (order.verb == BulkVerb::kEscalate && order.to.empty()) return bad("to: name the person to escalate them to");
  if (order.retry) TRY(check_payloads(order.retry->payload, order.retry->patch));
  if (order.verb != BulkVerb::kEdit) return {};
  if (!order.edit) return bad("edit: say what to change");
  if (order.edit->version) return bad("edit: a version belongs to one task");
  TRY(check_edit(*order.edit));
  return check_payloads(order.edit->payload, order.edit->patch);
}

}  // namespace

std::optional<BulkId> BulkId::parse(std::string_view text) {
  const auto uuid = TaskId::parse(text);
  if (!uuid) return std::nullopt;
  return BulkId(uuid->bytes());
}

std::string_view name_of(BulkVerb verb) {
  return name_in(kVerbs, verb);
}
std::optional<BulkVerb> parse_bulk_verb(std::string_view name) {
  return value_in<BulkVerb>(kVerbs, name);
}
std::string_view name_of(BulkState state) {
  return name_in(kStates, state);
}
std::optional<BulkState> parse_bulk_state(std::string_view name) {
  return value_in<BulkState>(kStates, name);
}

std::span<const TaskState> states_meant(BulkVerb verb) {
  return is_about_ended(verb) ? std::span<const TaskState>(kDeadLetters) : states_allowed(verb);
}

bool applies_to(BulkVerb verb, TaskState state) {
  return std::ranges::find(states_allowed(verb), state) != states_allowed(verb).end();
}

Status check_bulk(const BulkOrder& order) {
  TRY(check_which(order));
  return check_parameters(order);
}

BulkOrder fixed_order(BulkOrder order, Time now) {
  if (order.edit && order.edit->delay) {
    order.edit->run_at = now + *order.edit->delay;
    order.edit->delay.reset();
  }
  if (!order.filter) return order;
  TaskFilter& filter = *order.filter;
  if (filter.states.empty()) filter.states.assign(states_meant(order.verb).begin(), states_meant(order.verb).end());
  // What ends from now on is not meant: neither what fails meanwhile, nor what this operation has retried itself.
  if (is_about_ended(order.verb)) {
    const Time end = now + Millis{1};
    filter.finished_before = std::min(filter.finished_before.value_or(end), end);
  }
  return order;
}

void count_outcome(BulkOperation& operation, const TaskId& id, const Status& outcome) {
  if (outcome) {
    ++operation.done;
    return;
  }
  const ErrorCode code = outcome.error().code;
  ++(code == ErrorCode::kWrongState || code == ErrorCode::kNotFound ? operation.skipped : operation.failed);
  if (operation.problems.size() < kBulkProblemsMax) operation.problems.push_back({id, code, outcome.error().message});
}

void end_operation(BulkRecord& record, BulkState state, Time now) {
  BulkOperation& operation = record.operation;
  operation.state = state;
  operation.updated_at = now;
  operation.ended_at = now;
  // What may be large is not kept, nor what means something to one store only.
  record.cursor.clear();
  record.next_id = 0;
  operation.order.ids.clear();
  if (operation.order.retry) operation.order.retry->payload = operation.order.retry->patch = std::nullopt;
  if (operation.order.edit) operation.order.edit->payload = operation.order.edit->patch = std::nullopt;
}

BulkRecord* next_to_run(std::span<BulkRecord> records) {
  BulkRecord* next = nullptr;
  for (BulkRecord& record : records) {
    if (!record.is_running()) continue;
    if (next == nullptr || record.operation.updated_at < next->operation.updated_at) next = &record;
  }
  return next;
}

bool forget_ended(std::vector<BulkRecord>& records, Time long_ago) {
  std::vector<Time> ends;
  for (const BulkRecord& record : records) {
    if (record.operation.ended_at) ends.push_back(*record.operation.ended_at);
  }
  std::ranges::sort(ends, std::greater());
  const Time oldest_kept = ends.size() > kBulkEndedMax ? ends[kBulkEndedMax - 1] : Time::min();
  const auto is_old = [&](const BulkRecord& record) {
    const std::optional<Time>& ended = record.operation.ended_at;
    return ended && (*ended < long_ago || *ended < oldest_kept);
  };
  return std::erase_if(records, is_old) > 0;
}

EventDraft bulk_event(const BulkOperation& operation) {
  const bool is_over = operation.state != BulkState::kRunning;
  const bool is_stopped = operation.state == BulkState::kStopped;
  const Verdict& verdict = is_stopped ? operation.stopped : operation.order.verdict;
  json::Writer data;
  data.begin_object().key("bulk_id").string(operation.id.to_string()).key("verb").string(name_of(operation.order.verb));
  data.key("total").number(operation.total);
  if (is_over) {
    data.key("done").number(operation.done).key("skipped").number(operation.skipped);
    data.key("failed").number(operation.failed);
  }
  data.key("by").string(verdict.by).key("why").string(verdict.why).end_object();
  return {.name = is_stopped ? "bulk.stopped"
                  : is_over  ? "bulk.finished"
                             : "bulk.started",
          .data = std::move(data).take()};
}

}  // namespace drover
