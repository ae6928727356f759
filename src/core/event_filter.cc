#include "core/event_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace drover {
namespace {

constexpr std::string_view kTaskPrefix = "task.";

constexpr auto kEventNames = std::to_array<std::string_view>({
    "task.enqueued",         "task.updated",         "task.unblocked",        "task.due",
    "task.claimed",          "task.progressed",      "task.completed",        "task.retrying",
    "task.deferred",         "task.released",        "task.suspended",        "question.asked",
    "question.answered",     "question.expired",     "question.withdrawn",    "question.handed_over",
    "task.stalled",          "task.failed",          "task.cancel_requested", "task.cancelled",
    "task.deadline_passed",  "task.retried",         "task.revived",          "task.follow_up_refused",
    "task.result_refused",   "task.escalated",       "task.deleted",          "gate.closed",
    "gate.opened",           "gate.limited",         "provider.slowdown",     "provider.recovered",
    "budget.breached",       "budget.raised",        "session.reset",         "conversation.enqueued",
    "conversation.dequeued", "conversation.removed", "conversation.cleared",  "conversation.dropped",
    "conversation.blocked",  "breaker.opened",       "breaker.reopened",      "breaker.closed",
    "worker.draining",       "worker.gone",          "alert.raised",          "alert.cleared",
    "token.created",         "token.revoked",        "signin.created",        "signin.ended",
    "bulk.started",          "bulk.finished",        "bulk.stopped",          "store.regression_accepted",
});

}  // namespace

std::span<const std::string_view> event_names() {
  return kEventNames;
}

Result<std::string> parse_event_name(std::string_view text) {
  const std::string in_full = std::string(kTaskPrefix) + std::string(text);
  for (const std::string_view name : kEventNames) {
    if (name == text || name == in_full) return std::string(name);
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("no event has the name {}; docs/reference/events.md lists them", quoted_excerpt(text)));
}

bool EventFilter::admits(const Event& event) const {
  return (!type || event.type == *type) && (!queue || event.queue == *queue) && (!owner || event.owner == *owner) &&
         (!task || event.task == *task) && (names.empty() || std::ranges::find(names, event.name) != names.end());
}

}  // namespace drover
