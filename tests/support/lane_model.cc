#include "support/lane_model.h"

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "core/lane.h"

namespace drover::test {

struct LaneModel::Call {
  const ClaimRequest& request;
  const std::optional<ReservedSlots>& reserved;
  Time now;
  std::set<std::string> lines = {};
  std::set<std::string> set_aside = {};
  int visits = 0;
  int others_taken = 0;
  Answer answer = {};

  [[nodiscard]] std::int64_t left() const { return request.n - static_cast<std::int64_t>(answer.ids.size()); }
  [[nodiscard]] bool is_other(const Task& like) const { return reserved && like.priority > reserved->rank; }
  [[nodiscard]] bool may_take(const Task& like) const { return !is_other(like) || others_taken < reserved->n_others; }
};

// ---- tasks

LaneModel::Entry& LaneModel::entry(const TaskId& id) {
  const auto found = std::ranges::find(entries_, id, [](const Entry& entry) { return entry.task.id; });
  if (found == entries_.end()) throw std::runtime_error("the model has no such task");
  return *found;
}

void LaneModel::push(const Task& task) {
  entries_.push_back({task, ++last_place_, std::nullopt, lane_name(task)});
  if (known_.insert(entries_.back().lane).second) open({&task, last_place_, entries_.back().lane});
}

void LaneModel::stop(Entry& entry, Time now) {
  const Time started_at = *entry.started_at;
  entry.started_at.reset();
  for (const std::string& gate : gates_of(entry.task)) {
    const GateLimits limits = this->limits(gate);
    if (limits.permits && started_at >= limits.counted_from) look_now(gate, now);
  }
}

void LaneModel::give_back(const TaskId& id, Time now) {
  Entry& back = entry(id);
  stop(back, now);
  if (known_.insert(back.lane).second) open({&back.task, back.place, back.lane});
}

void LaneModel::end(const TaskId& id, Time now) {
  stop(entry(id), now);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.task.id == id; });
}

void LaneModel::push_again(const TaskId& id, Time now) {
  const Task task = entry(id).task;
  end(id, now);
  push(task);
}

void LaneModel::cancel(const TaskId& id) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.task.id == id; });
  tidy();
}

// ---- lanes and lines

std::vector<LaneModel::Lane> LaneModel::lanes() const {
  std::map<std::string, Lane> lanes;
  for (const Entry& entry : entries_) {
    if (entry.started_at) continue;
    const auto [lane, is_new] = lanes.try_emplace(entry.lane, Lane{&entry.task, entry.place, entry.lane});
    lane->second.head = std::min(lane->second.head, entry.place);
  }
  std::vector<Lane> all;
  for (auto& [name, lane] : lanes) all.push_back(std::move(lane));
  return all;
}

std::vector<LaneModel::Lane> LaneModel::lanes_of(const Line& line) const {
  std::vector<Lane> all = lanes();
  std::erase_if(all, [&](const Lane& lane) {
    const auto parked = parked_.find(lane.name);
    const std::optional<std::string> at = parked != parked_.end() ? std::optional(parked->second) : std::nullopt;
    return lane.like->queue != line.queue || at != line.gate || (line.type && lane.like->type != *line.type);
  });
  return all;
}

std::optional<LaneModel::Lane> LaneModel::first(const Line& line) const {
  const std::vector<Lane> all = lanes_of(line);
  const auto best = std::ranges::min_element(all, {}, [&](const Lane& lane) {
    return std::tuple(lane.like->priority, virtual_time(*lane.like), lane.like->owner, lane.head);
  });
  return best != all.end() ? std::optional(*best) : std::nullopt;
}

std::optional<LaneModel::Lane> LaneModel::oldest(const Line& line) const {
  const std::vector<Lane> all = lanes_of(line);
  const auto best = std::ranges::min_element(all, {}, &Lane::head);
  return best != all.end() ? std::optional(*best) : std::nullopt;
}

std::int64_t LaneModel::virtual_time(const Task& like) const {
  const auto found = virtual_times_.find({{like.queue, like.priority}, like.owner});
  return found != virtual_times_.end() ? found->second : 0;
}

void LaneModel::open(const Lane& lane) {
  parked_.erase(lane.name);
  const Rank rank{lane.like->queue, lane.like->priority};
  std::int64_t& own = virtual_times_[{rank, lane.like->owner}];
  own = std::max(own, clocks_[rank]);
}

void LaneModel::park(const Lane& lane, const std::string& gate, std::optional<Time> look_again) {
  parked_[lane.name] = gate;
  std::optional<Time>& wake_at = gates_[gate].wake_at;
  if (look_again) wake_at = std::min(wake_at.value_or(*look_again), *look_again);
}

void LaneModel::tidy() {
  known_.clear();
  for (const Lane& lane : lanes()) known_.insert(lane.name);
  std::erase_if(parked_, [&](const auto& parked) { return !known_.contains(parked.first); });
  for (auto& [name, gate] : gates_) {
    if (has_lanes(name)) continue;
    gate.wake_at.reset();
    gate.cursor.clear();
  }
}

std::optional<std::string> LaneModel::parked_at(const Task& task) const {
  const auto found = parked_.find(lane_name(task));
  return found != parked_.end() ? std::optional(found->second) : std::nullopt;
}

// ---- gates

bool LaneModel::has_lanes(const std::string& gate) const {
  return std::ranges::any_of(parked_, [&](const auto& parked) { return parked.second == gate; });
}

void LaneModel::look_now(const std::string& gate, Time now) {
  if (has_lanes(gate)) gates_[gate].wake_at = now;
}

GateLimits LaneModel::limits(const std::string& gate) const {
  const auto is_set = [&](const std::string& name) {
    const auto found = gates_.find(name);
    return found != gates_.end() && !is_default(found->second.record);
  };
  if (is_set(gate)) return limits_of(gates_.at(gate).record);
  if (gate.starts_with("owner:") && is_set("owner:*")) return limits_of(gates_.at("owner:*").record);
  GateLimits none;
  if (gate.starts_with("lock:")) none.permits = 1;
  return none;
}

std::int64_t LaneModel::in_use(const std::string& gate) const {
  const GateLimits limits = this->limits(gate);
  return std::ranges::count_if(entries_, [&](const Entry& entry) {
    return entry.started_at && *entry.started_at >= limits.counted_from &&
           std::ranges::count(gates_of(entry.task), gate) > 0;
  });
}

GateUse LaneModel::use(const std::string& gate) const {
  const auto found = gates_.find(gate);
  return {in_use(gate), found != gates_.end() ? found->second.rate_at_us : 0};
}

GateVerdict LaneModel::ask(const std::string& gate, const GateUse& use, std::int64_t cost, Time now) const {
  return ask_gate(limits(gate), use, cost, now);
}

std::optional<std::pair<std::string, GateVerdict>> LaneModel::refusal(const Lane& lane, Time now) const {
  for (const std::string& gate : gates_of(*lane.like)) {
    const GateVerdict verdict = ask(gate, use(gate), lane.like->cost, now);
    if (verdict.room == 0) return std::pair(gate, verdict);
  }
  return std::nullopt;
}

bool LaneModel::may_start(const Task& task, Time now) const {
  return !refusal({&task, 0, {}}, now);
}

void LaneModel::set_gate(const GateRecord& record, Time now) {
  gates_[record.name].record = record;
  std::set<std::string> names{record.name};
  if (record.name == "owner:*") {
    for (const auto& [lane, gate] : parked_) {
      if (gate.starts_with("owner:") && is_default(gates_[gate].record)) names.insert(gate);
    }
  }
  for (auto& [name, gate] : gates_) {
    if (limits(name).interval_us == 0) gate.rate_at_us = 0;
  }
  for (const std::string& name : names) look_now(name, now);
}

int LaneModel::wake_gates(Time now) {
  std::vector<std::pair<Time, std::string>> due;
  for (const auto& [name, gate] : gates_) {
    if (gate.wake_at && *gate.wake_at <= now) due.emplace_back(*gate.wake_at, name);
  }
  std::ranges::sort(due);
  if (std::cmp_greater(due.size(), kWakesMax)) due.resize(kWakesMax);
  int woken = 0;
  for (const auto& [at, name] : due) {
    if (woken < kWakesMax) woken += wake_gate(name, kWakesMax - woken, now);
  }
  return woken;
}

int LaneModel::wake_gate(const std::string& name, int lanes_max, Time now) {
  Gate& gate = gates_[name];
  GateUse use = this->use(name);
  const GateLimits limits = this->limits(name);
  int woken = 0;
  std::set<std::string> refused;
  std::optional<Time> again;
  while (woken < lanes_max && refused.size() < 64) {
    std::set<std::string> queues;
    for (const Lane& lane : lanes()) {
      if (parked_.contains(lane.name) && parked_.at(lane.name) == name) queues.insert(lane.like->queue);
    }
    if (queues.empty()) break;
    const auto behind = queues.upper_bound(gate.cursor);
    const std::string queue = behind != queues.end() ? *behind : *queues.begin();
    if (refused.contains(queue)) break;
    gate.cursor = queue;
    const Lane lane = *first({.queue = queue, .type = {}, .gate = name});
    const GateVerdict verdict = ask(name, use, lane.like->cost, now);
    if (verdict.room > 0) {
      open(lane);
      use = use_gate(limits, use, lane.like->cost, 1, now);
      refused.clear();
      ++woken;
      continue;
    }
    refused.insert(queue);
    if (verdict.look_again) again = std::min(again.value_or(*verdict.look_again), *verdict.look_again);
    const bool is_closed = limits.closed_until && now < *limits.closed_until;
    if (is_closed || (limits.permits && use.in_use >= *limits.permits)) break;
  }
  gate.wake_at = woken > 0 || refused.size() >= 64 ? std::optional(now) : again;
  tidy();
  return woken;
}

// ---- claim

LaneModel::Answer LaneModel::claim(const ClaimRequest& request, const std::optional<ReservedSlots>& reserved,
                                   Time now) {
  wake_gates(now);
  Call call{request, reserved, now};
  for (const Serve& serve : request.serves) call.lines.insert(Line{serve.queue, serve.type}.name());
  while (call.left() > 0 && call.visits < kVisitsMax) {
    const std::optional<Line> line = choose_line(call);
    if (!line) break;
    visit(call, *line);
  }
  const bool is_due =
      std::ranges::any_of(gates_, [&](const auto& gate) { return gate.second.wake_at && *gate.second.wake_at <= now; });
  call.answer.more = call.left() > 0 && (call.visits == kVisitsMax || is_due);
  return call.answer;
}

std::optional<LaneModel::Line> LaneModel::choose_line(const Call& call) const {
  const auto turn_of = [&](const Line& line) {
    const auto found = turns_.find(line.name());
    return found != turns_.end() ? found->second : 0;
  };
  const auto visits = pool_visits_.find(call.lines);
  const bool by_turn = visits != pool_visits_.end() && visits->second % kOldestEvery == kOldestEvery - 1;
  std::optional<Line> best;
  std::tuple<int, std::int64_t, std::string> best_key;
  for (const Serve& serve : call.request.serves) {
    const Line line{serve.queue, serve.type};
    const std::optional<Lane> lane = first(line);
    if (!lane || call.set_aside.contains(line.name())) continue;
    const std::tuple key(by_turn ? 0 : lane->like->priority, turn_of(line), line.name());
    if (best && best_key <= key) continue;
    best = line;
    best_key = key;
  }
  return best;
}

std::optional<LaneModel::Lane> LaneModel::choose_lane(const Call& call, const Line& line) const {
  const auto served = served_.find(line.name());
  if (served != served_.end() && served->second % kOldestEvery == kOldestEvery - 1) {
    const std::optional<Lane> lane = oldest(line);
    if (lane && call.may_take(*lane->like)) return lane;
  }
  const std::optional<Lane> lane = first(line);
  return lane && call.may_take(*lane->like) ? lane : std::nullopt;
}

void LaneModel::visit(Call& call, const Line& line) {
  const std::optional<Lane> lane = choose_lane(call, line);
  if (!lane) {
    call.set_aside.insert(line.name());
    return;
  }
  ++call.visits;
  if (const auto refused = refusal(*lane, call.now)) return park(*lane, refused->first, refused->second.look_again);
  std::int64_t count = call.left();
  if (call.is_other(*lane->like)) count = std::min<std::int64_t>(count, call.reserved->n_others - call.others_taken);
  for (const std::string& gate : gates_of(*lane->like)) {
    count = std::min(count, ask(gate, use(gate), lane->like->cost, call.now).room);
  }
  const std::int64_t turn = served_[line.name()] % kOldestEvery;
  if (turn == kOldestEvery - 1) count = 1;
  if (lanes_of(line).size() > 1) count = std::min(count, std::max<std::int64_t>(1, kOldestEvery - 1 - turn));
  take(call, line, *lane, count);
}

void LaneModel::take(Call& call, const Line& line, const Lane& lane, std::int64_t count) {
  std::vector<Entry*> waiting;
  for (Entry& entry : entries_) {
    if (!entry.started_at && entry.lane == lane.name) waiting.push_back(&entry);
  }
  std::ranges::sort(waiting, {}, [](const Entry* entry) { return entry->place; });
  waiting.resize(std::min(waiting.size(), static_cast<std::size_t>(count)));
  const auto taken = static_cast<std::int64_t>(waiting.size());
  for (const std::string& gate : gates_of(*lane.like)) {
    const GateLimits limits = this->limits(gate);
    if (limits.interval_us > 0) {
      gates_[gate].rate_at_us = use_gate(limits, use(gate), lane.like->cost, taken, call.now).rate_at_us;
    }
  }
  for (Entry* entry : waiting) {
    entry->started_at = call.now;
    call.answer.ids.push_back(entry->task.id);
  }
  if (call.is_other(*lane.like)) call.others_taken += static_cast<int>(taken);
  const Rank rank{lane.like->queue, lane.like->priority};
  const auto weight = weights_.owners.find(lane.like->owner);
  std::int64_t& own = virtual_times_[{rank, lane.like->owner}];
  clocks_[rank] = std::max(clocks_[rank], own);
  own += taken * kVirtualUnit / (weight != weights_.owners.end() ? weight->second : weights_.others);
  served_[line.name()] += taken;
  if (call.lines.size() > 1) {
    turns_[line.name()] = ++last_turn_;
    ++pool_visits_[call.lines];
  }
  tidy();
  if (!known_.contains(lane.name)) return;
  if (const auto refused = refusal(lane, call.now)) park(lane, refused->first, refused->second.look_again);
}

}  // namespace drover::test
