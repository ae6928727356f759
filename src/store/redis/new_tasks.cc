#include "store/redis/new_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/lane.h"
#include "core/task_fields.h"
#include "store/redis/record_text.h"
#include "store/redis/step_arguments.h"

namespace drover::redis {
namespace {

// Whether its record, its body and its place in a lane are all there is to a new task.
bool is_plain(const Step& step) {
  return step.expected_revision == 0 && step.next.task.state == TaskState::kPending && step.events.size() == 1 &&
         is_bare_beside(step.next, [](auto field) {
           return field.kIs.plain || field.template is<&Task::id, &Task::type, &Task::queue, &Task::owner, &Task::state,
                                                       &Task::priority, &Task::gates, &Task::cost, &Task::run_at>();
         });
}

bool is_plain(const StepGroup& group) {
  return group.capacity && group.gates.empty() && group.dedupes.empty() && !group.document &&
         std::ranges::all_of(group.steps, [](const Step& step) { return is_plain(step); });
}

// "scope, most that may wait there, so many more" of each limit; before them, how many words these are.
void add_asked_room(const StepGroup& group, const Capacity& capacity, std::vector<std::string>& to) {
  std::map<std::string_view, std::size_t> owners;
  std::map<std::string_view, std::size_t> queues;
  for (const Step& step : group.steps) {
    ++owners[step.next.task.owner];
    ++queues[step.next.task.queue];
  }
  const std::size_t at = to.size();
  to.emplace_back();
  const auto ask = [&](std::string scope, std::int64_t most, std::size_t more) {
    to.insert(to.end(), {std::move(scope), std::to_string(most), std::to_string(more)});
  };
  ask("all", capacity.waiting_max, group.steps.size());
  for (const auto& [owner, added] : owners) {
    ask(fmt::format("owner:{}", owner), capacity.waiting_per_owner_max, added);
  }
  for (const auto& [queue, max] : capacity.waiting_per_queue_max) {
    if (const auto found = queues.find(queue); found != queues.end()) {
      ask(fmt::format("queue:{}", queue), max, found->second);
    }
  }
  to[at] = std::to_string(to.size() - at - 1);
}

// What tasks have in common.
struct Shared {
  std::string lane;
  std::string event;
  std::string record;  // behind its size

  bool operator==(const Shared&) const = default;
};

Shared shared_of(const Step& step) {
  const Task& task = step.next.task;
  std::string lane = lane_name(task);
  std::string event = event_text(step.events.front(), event_subject(task, kAnyTask, lane));
  std::string record = fmt::format(" 0 0 ~ {}\n\n", to_said(step.next, lane));
  return {.lane = std::move(lane), .event = std::move(event), .record = std::move(record)};
}

void add_tasks(const StepGroup& group, std::vector<std::string>& to) {
  const std::size_t lists_at = to.size();
  to.emplace_back();
  std::size_t lists = 0;
  std::size_t count_at = 0;
  std::size_t count = 0;
  Shared shared;
  for (const Step& step : group.steps) {
    Shared own = shared_of(step);
    if (lists == 0 || own != shared) {
      if (lists > 0) to[count_at] = std::to_string(count);
      to.insert(to.end(), {own.lane, own.event, own.record, std::string()});
      shared = std::move(own);
      count_at = to.size() - 1;
      count = 0;
      ++lists;
    }
    to.push_back(step.next.task.id.to_string());
    to.push_back(to_body(step.next.task));
    ++count;
  }
  if (lists > 0) to[count_at] = std::to_string(count);
  to[lists_at] = std::to_string(lists);
}

}  // namespace

std::optional<NewTasks> as_new_tasks(std::span<const StepGroup> groups) {
  if (!std::ranges::all_of(groups, [](const StepGroup& group) { return is_plain(group); })) return std::nullopt;
  NewTasks all{.arguments = {}, .groups = groups.size()};
  for (const StepGroup& group : groups) {
    add_asked_room(group, group.capacity.value_or(Capacity{}), all.arguments);
    add_tasks(group, all.arguments);
  }
  return all;
}

}  // namespace drover::redis
