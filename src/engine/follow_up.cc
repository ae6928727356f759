#include "engine/follow_up.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/try.h"
#include "core/transition.h"
#include "engine/spec.h"

namespace drover {
namespace {

Result<TaskRecord> follow_up_record(const FollowUp& follow_up, const TaskRecord& ended, const Policy& policy,
                                    const TaskId& id, Time now) {
  const Limits& limits = policy.limits;
  if (ended.depth >= limits.depth) {
    return fail(ErrorCode::kLimitExceeded, fmt::format("tasks may be spawned at most {} levels deep", limits.depth));
  }
  if (ended.children >= limits.children) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("the ended task has {} children already, and no more are allowed", ended.children));
  }
  const auto bytes_max = static_cast<std::size_t>(limits.payload_bytes);
  TaskSpec spec{.type = follow_up.type,
                .queue = follow_up.queue,
                .owner = ended.task.owner,
                .priority = follow_up.priority,
                .payload = follow_up_payload(follow_up, ended.task, bytes_max),
                .parent_id = ended.task.id};
  auto record = record_from_spec(spec, policy, id, now);
  if (!record) return record;
  TRY(meet_contract(*record, policy));
  record->depth = ended.depth + 1;
  return record;
}

EventDraft refused_event(const FollowUp& follow_up, const Error& why) {
  json::Writer data;
  data.begin_object().key("type").string(follow_up.type).key("code").string(error_info(why.code).name);
  data.key("message").string(why.message).key("alert").boolean(true).end_object();
  return {.name = "task.follow_up_refused", .data = std::move(data).take()};
}

}  // namespace

std::optional<Step> follow_up_step(Step& ended, const Policy& policy, Rng& rng, Time now) {
  TaskRecord& task = ended.next;
  const FollowUp* follow_up = follow_up_of(policy.type(task.task.type).contract, task.task.state);
  if (follow_up == nullptr) return std::nullopt;
  auto record = follow_up_record(*follow_up, task, policy, new_task_id(rng, now), now);
  if (!record) {
    ended.events.push_back(refused_event(*follow_up, record.error()));
    return std::nullopt;
  }
  task.children += 1;
  return first_step(std::move(*record), {now, 0, nullptr});
}

}  // namespace drover
