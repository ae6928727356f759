// Gates, what stands before a task, and the counts of queues over Redis.
#include <algorithm>
#include <charconv>
#include <map>

#include "base/try.h"
#include "core/lane.h"
#include "store/redis/redis_store_class.h"
#include "store/redis/spend_text.h"

namespace drover::redis {
namespace {

// "ID|TIME"
std::optional<FirstInLine> read_first(std::string_view text) {
  const std::size_t bar = text.find('|');
  const auto id = TaskId::parse(text.substr(0, bar));
  std::int64_t millis = 0;
  if (!id || bar == std::string_view::npos) return std::nullopt;
  std::from_chars(text.data() + bar + 1, text.data() + text.size(), millis);
  return FirstInLine{*id, Time(Millis(millis))};
}

// "NAME|state". Whether it makes sense.
bool add_count(std::map<std::string, QueueCounts>& queues, std::string_view field, std::int64_t tasks) {
  const std::size_t bar = field.rfind('|');
  const auto state = parse_task_state(field.substr(bar + 1));
  if (!state || bar == std::string_view::npos) return false;
  const std::string name(field.substr(0, bar));
  QueueCounts& queue = queues[name];
  queue.name = name;
  queue.tasks[static_cast<std::size_t>(*state)] = tasks;
  return true;
}

std::unexpected<Error> unreadable_counts(std::string operation) {
  return fail(ErrorCode::kStoreDamaged, "unreadable counts", std::move(operation));
}

std::vector<QueueCounts> in_order(std::map<std::string, QueueCounts> queues) {
  std::vector<QueueCounts> found;
  for (auto& [name, counts] : queues) found.push_back(std::move(counts));
  return found;
}

}  // namespace

Result<std::vector<GateState>> RedisStore::gate_states(const Command& command) {
  const auto reply = TRY(ask(command));
  const auto items = TRY(reply.as_array());
  std::vector<GateState> states;
  for (const Reply& item : items) {
    const auto parts = TRY(item.as_array_of(6));
    GateState state;
    const auto record = TRY(parts[1].as_text());
    if (const std::size_t space = record.find(' '); space != std::string_view::npos) {
      state.record = TRY(gate_from_json(record.substr(space + 1)));
      std::from_chars(record.data(), record.data() + space, state.record.revision);
    }
    state.record.name = std::string(parts[0].as_text().value_or(""));
    state.use.in_use = parts[2].as_integer().value_or(0);
    state.use.rate_at_us = parts[3].as_integer().value_or(0);
    state.waiting_lanes = parts[4].as_integer().value_or(0);
    state.use.budgets = parse_budget_use(TRY(parts[5].as_text()));
    states.push_back(std::move(state));
  }
  return states;
}

Result<std::vector<GateState>> RedisStore::read_gates(std::span<const std::string> names) {
  if (names.empty()) return std::vector<GateState>();
  Command command = function("read_gates");
  for (const std::string& name : names) command.add(name);
  return gate_states(command);
}

Result<int> RedisStore::wake_gates() {
  const auto woken = TRY(ask_number(function("wake_gates")));
  if (woken < 0) return mend("a lane could not be read") ? 1 : 0;
  if (woken > 0) committed();
  return static_cast<int>(woken);
}

Result<std::optional<LanePosition>> RedisStore::lane_position(const TaskId& id) {
  const auto reply = TRY(ask(function("lane_position").add(id.to_string())));
  if (reply.is_nil()) return std::nullopt;
  const auto parts = TRY(reply.as_array_of(2));
  const auto gate = TRY(parts[0].as_text());
  const auto ahead = TRY(parts[1].as_integer());
  LanePosition position;
  if (!gate.empty()) position.parked_at = std::string(gate);
  position.ahead = ahead;
  return position;
}

Result<std::vector<WaitingLane>> RedisStore::lanes(int limit) {
  const auto reply = TRY(ask(function("lanes").add(limit)));
  const auto items = TRY(reply.as_array());
  std::vector<WaitingLane> lanes;
  for (const Reply& item : items) {
    const auto parts = TRY(item.as_array_of(3));
    auto like = task_like(parts[0].as_text().value_or(""));
    const auto tasks = parts[1].as_integer();
    const auto first = read_first(parts[2].as_text().value_or(""));
    if (!like || !tasks || !first) return fail(ErrorCode::kStoreDamaged, "a lane cannot be read", "redis.lanes");
    lanes.push_back({.like = *std::move(like), .tasks = *tasks, .first = *first});
  }
  return lanes;
}

Result<std::vector<QueueCounts>> RedisStore::queues() {
  constexpr std::string_view kFirst = "first:";
  const auto reply = TRY(ask(function("queues")));
  const auto items = TRY(reply.as_array());
  std::map<std::string, QueueCounts> queues;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    std::string_view field = items[i].as_text().value_or("");
    const auto number = items[i + 1].as_integer();
    if (field.starts_with(kFirst)) {
      queues[std::string(field.substr(kFirst.size()))].first = read_first(items[i + 1].as_text().value_or(""));
      continue;
    }
    field.remove_prefix(std::min(field.size(), std::string_view("queue:").size()));
    if (!number || !add_count(queues, field, *number)) return unreadable_counts("redis.queues");
  }
  return in_order(std::move(queues));
}

Result<std::vector<QueueCounts>> RedisStore::queues_of(const std::string& owner) {
  const auto reply = TRY(ask(function("queues_of").add(owner)));
  const auto items = TRY(reply.as_array());
  const std::size_t prefix = std::string_view("own:|").size() + owner.size();
  std::map<std::string, QueueCounts> queues;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    std::string_view field = items[i].as_text().value_or("");
    field.remove_prefix(std::min(field.size(), prefix));
    const auto number = items[i + 1].as_integer();
    if (!number || !add_count(queues, field, *number)) return unreadable_counts("redis.queues_of");
  }
  return in_order(std::move(queues));
}

}  // namespace drover::redis
