// fsck over Redis: the output of tasks in steps, then in one call all that hangs together, then the events page by
// page, so that Redis answers others meanwhile wherever it can.
#include <algorithm>
#include <map>
#include <sstream>

#include "base/try.h"
#include "core/gate.h"
#include "core/inventory.h"
#include "core/transition.h"
#include "store/redis/event_review.h"
#include "store/redis/record_text.h"
#include "store/redis/redis_store_class.h"
#include "store/redis/reply_error.h"
#include "store/redis/step_arguments.h"

namespace drover::redis {
namespace {

constexpr Millis kFsckTimeMax{600'000};
constexpr int kPage = 1'000;  // events, or tasks, in one call

// {code, detail, repaired, tasks}, as a_fsck.lua tells it.
struct ToldFinding {
  Finding finding;
  std::string tasks;  // that are to be mended by the rules
};

std::string_view word_of(FsckMode mode) {
  return mode == FsckMode::kRepair ? "repair" : "check";
}

Result<ToldFinding> to_finding(const Reply& reply) {
  const auto parts = TRY(reply.as_array_of(4));
  const auto text = [&](std::size_t i) { return std::string(parts[i].as_text().value_or("")); };
  return ToldFinding{{text(0), text(1), parts[2].as_integer().value_or(0) != 0}, text(3)};
}

}  // namespace

Result<std::vector<Finding>> RedisStore::fsck(FsckMode mode) {
  auto findings = check_logs(mode);  // before what a task holds is counted
  if (!findings) return findings;
  const auto of_tasks = check_tasks(mode);
  if (!of_tasks) return of_tasks;
  findings->insert(findings->end(), of_tasks->begin(), of_tasks->end());
  const auto stops = [](const Finding& finding) { return finding.code == "wrong_type" && !finding.repaired; };
  if (std::ranges::none_of(*of_tasks, stops)) {
    const auto gone = to_missing(ask_patiently(function("inventory").add(word_of(mode))));
    if (!gone) return gone;
    findings->insert(findings->end(), gone->begin(), gone->end());
    const auto of_events = check_events();
    if (!of_events) return of_events;
    findings->insert(findings->end(), of_events->begin(), of_events->end());
  }
  if (mode == FsckMode::kRepair) committed();
  return findings;
}

Result<std::vector<Finding>> RedisStore::missing() {
  return to_missing(ask(function("inventory").add(word_of(FsckMode::kCheck))));
}

Result<std::vector<Finding>> RedisStore::to_missing(const Result<Reply>& reply) {
  const auto parts = TRY(reply ? reply->as_array_of(7) : std::unexpected(reply.error()));
  const auto number = [&](std::size_t i) { return parts[i].as_integer().value_or(0); };
  return find_missing({.policy = {number(0), number(1) != 0},
                       .access_tokens = {number(2), number(3) != 0},
                       .first_event = number(4),
                       .last_event = number(5),
                       .first_event_there = number(6) == 0 ? std::nullopt : std::optional(number(6))});
}

// However long that takes: it has a connection of its own and waits for it. A call that breaks off has nothing
// repaired.
Result<Reply> RedisStore::ask_patiently(const Command& command) {
  const Interrupt never;
  auto reply = client_.blocking_call(command, kFsckTimeMax, never);
  if (reply && is_function_missing(*reply)) {
    TRY(ask_clocks());  // any call loads the library
    reply = client_.blocking_call(command, kFsckTimeMax, never);
  }
  if (reply && reply->is_error()) return std::unexpected(error_of(*reply));
  return reply;
}

Result<std::vector<Finding>> RedisStore::check_logs(FsckMode mode) {
  Findings findings;
  std::string cursor = "0";
  do {
    const auto reply = ask_patiently(function("fsck_logs").add(word_of(mode), cursor));
    const auto parts = TRY(reply ? reply->as_array_of(2) : std::unexpected(reply.error()));
    const auto next = TRY(parts[0].as_text());
    const auto found = TRY(parts[1].as_array());
    cursor = next;
    for (const Reply& item : found) {
      const auto told = TRY(to_finding(item));
      findings.add(told.finding);
    }
  } while (cursor != "0");
  return std::move(findings).take();
}

Result<std::vector<Finding>> RedisStore::check_tasks(FsckMode mode) {
  Command command = function("fsck").add(word_of(mode));
  add_gate_limits(command);
  const auto reply = ask_patiently(command);
  const auto items = TRY(reply ? reply->as_array() : std::unexpected(reply.error()));
  std::vector<Finding> findings;
  for (const Reply& item : items) {
    auto told = TRY(to_finding(item));
    if (mode == FsckMode::kRepair && !told.tasks.empty()) told.finding.repaired = unblock(told.tasks);
    findings.push_back(std::move(told.finding));
  }
  return findings;
}

// Name, revision and limits of each gate, from its record, by name. What cannot be read is left out.
void RedisStore::add_gate_limits(Command& command) {
  std::vector<Reply> replies;
  std::map<std::string_view, std::string_view> records;
  for (const std::string_view of : {kGateRecordsKey, kSessionsKey}) {
    auto reply = ask(Command("HGETALL", key(of)));
    if (reply) replies.push_back(*std::move(reply));
  }
  for (const Reply& reply : replies) {
    const auto flat = reply.as_array();
    for (std::size_t i = 0; flat && i + 1 < flat->size(); i += 2) {
      records[(*flat)[i].as_text().value_or("")] = (*flat)[i + 1].as_text().value_or("");
    }
  }
  for (const auto& [name, record] : records) {
    const std::size_t space = record.find(' ');
    if (space == std::string_view::npos) continue;
    auto gate = gate_from_json(record.substr(space + 1));
    if (!gate) continue;
    gate->name = name;
    command.add(name).add(record.substr(0, space)).add(stored_limits(*gate));
  }
}

// As if the last parent of each had just completed: the rules say where it goes. False if one did not.
bool RedisStore::unblock(std::string_view tasks) {
  bool all = true;
  std::istringstream words{std::string(tasks)};
  for (std::string word; words >> word;) {
    const auto id = TaskId::parse(word);
    if (!id || !unblock(*id)) all = false;
  }
  return all;
}

bool RedisStore::unblock(const TaskId& id) {
  const auto now = this->now();
  auto records = read(std::span(&id, 1), Parts::kHead);
  if (!now || !records) return false;
  std::optional<TaskRecord> record = std::move(records->front());
  if (!record) return false;
  record->unmet_parents = 1;
  record->task.open_questions = 0;  // or it would not be blocked for nothing
  auto step = decide(*std::move(record), trigger::ParentDone{}, {.now = *now});
  if (!step) return false;  // it has moved on
  const StepGroup group{.steps = {*std::move(step)}, .capacity = std::nullopt};
  const auto applied = apply(std::span(&group, 1));
  return applied && applied->front() == Applied::kDone;
}

// A task moves with its event, in one call; but the events are read first, and then the tasks. So where they differ the
// events are read on: a task of which there is a newer one has moved meanwhile.
Result<std::vector<Finding>> RedisStore::check_events() {
  EventReview review;
  const auto made = ask_patiently(function("last_event"));
  const auto made_n = TRY(made ? made->as_integer() : std::unexpected(made.error()));
  TRY(read_events_on(review));
  review.add_end(made_n);
  const auto others = TRY(tasks_elsewhere(review));
  const std::int64_t before = review.last();
  TRY(others.empty() ? Status() : read_events_on(review));
  for (const auto& [id, state] : others) {
    if (review.said().at(id).seq <= before) review.add_wrong_state(id, state);
  }
  return std::move(review).take();
}

Status RedisStore::read_events_on(EventReview& review) {
  for (;;) {
    const auto reply = ask_patiently(function("events").add(std::max<std::int64_t>(review.last() - 1, 0), kPage));
    const auto items = TRY(reply ? reply->as_array() : std::unexpected(reply.error()));
    if (!review.add_page(items)) return {};
  }
}

// Those that are not in the state that their last event speaks of, and the one in which they are.
Result<std::vector<std::pair<TaskId, TaskState>>> RedisStore::tasks_elsewhere(const EventReview& review) {
  std::vector<std::pair<TaskId, TaskState>> found;
  for (auto next = review.said().begin(); next != review.said().end();) {
    Command command = function("read").add("head");
    for (int i = 0; i < kPage && next != review.said().end(); ++i, ++next) command.add(next->first.to_string());
    const auto reply = ask_patiently(command);
    const auto items = TRY(reply ? reply->as_array() : std::unexpected(reply.error()));
    for (const Reply& item : items) {
      const auto record = to_record(item);
      if (!record) continue;  // it is gone, or cannot be read, which was told
      const Task& task = record->task;
      const auto said = review.said().find(task.id);
      if (said != review.said().end() && said->second.state != task.state) found.emplace_back(task.id, task.state);
    }
  }
  return found;
}

}  // namespace drover::redis
