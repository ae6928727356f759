// What runs next, said naively: docs/internals/lanes-and-gates.md with plain vectors and no index, to compare a store
// with.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/store.h"

namespace drover::test {

class LaneModel {
 public:
  struct Answer {
    std::vector<TaskId> ids;  // in the order in which they were taken
    bool more = false;

    bool operator==(const Answer&) const = default;
  };

  // A task becomes pending: it goes to the tail of its lane.
  void push(const Task& task);
  // One that runs comes back to its place; goes for good; or goes to the tail.
  void give_back(const TaskId& id, Time now);
  void end(const TaskId& id, Time now);
  void push_again(const TaskId& id, Time now);
  // One that waits goes.
  void cancel(const TaskId& id);

  [[nodiscard]] Answer claim(const ClaimRequest& request, const std::optional<ReservedSlots>& reserved, Time now);
  int wake_gates(Time now);
  void set_gate(const GateRecord& record, Time now);
  void set_weights(const Weights& weights) { weights_ = weights; }

  // ---- what is there

  struct Entry {
    Task task;
    std::int64_t place = 0;
    std::optional<Time> started_at;  // set: it runs
    std::string lane = {};           // its name
  };
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::optional<std::string> parked_at(const Task& task) const;
  // Of a gate, as it is enforced.
  [[nodiscard]] GateLimits limits(const std::string& gate) const;
  // How many run that have it and count.
  [[nodiscard]] std::int64_t in_use(const std::string& gate) const;
  // Whether every gate of the task would let it start now.
  [[nodiscard]] bool may_start(const Task& task, Time now) const;

 private:
  struct Gate {
    GateRecord record;
    std::int64_t rate_at_us = 0;
    std::optional<Time> wake_at;
    std::string cursor;
  };
  // One of its tasks, its head and its name; only as long as no task comes or goes.
  struct Lane {
    const Task* like = nullptr;
    std::int64_t head = 0;
    std::string name;
  };
  struct Line {
    std::string queue;
    std::optional<std::string> type = {};
    std::optional<std::string> gate = {};  // set: of the lanes that are parked there

    [[nodiscard]] std::string name() const { return type ? queue + "|" + *type : queue; }
  };
  struct Call;                               // a claim under way
  using Rank = std::pair<std::string, int>;  // queue and rank

  [[nodiscard]] Entry& entry(const TaskId& id);
  void stop(Entry& entry, Time now);
  [[nodiscard]] std::vector<Lane> lanes() const;
  [[nodiscard]] std::vector<Lane> lanes_of(const Line& line) const;
  [[nodiscard]] std::optional<Lane> first(const Line& line) const;
  [[nodiscard]] std::optional<Lane> oldest(const Line& line) const;
  [[nodiscard]] std::int64_t virtual_time(const Task& like) const;
  void open(const Lane& lane);
  void park(const Lane& lane, const std::string& gate, std::optional<Time> look_again);
  // A lane that has no task any more is not parked; a gate without lanes is not to be looked at.
  void tidy();
  [[nodiscard]] bool has_lanes(const std::string& gate) const;
  void look_now(const std::string& gate, Time now);

  [[nodiscard]] GateUse use(const std::string& gate) const;
  [[nodiscard]] GateVerdict ask(const std::string& gate, const GateUse& use, std::int64_t cost, Time now) const;
  // The first gate that refuses the lane.
  [[nodiscard]] std::optional<std::pair<std::string, GateVerdict>> refusal(const Lane& lane, Time now) const;
  int wake_gate(const std::string& name, int lanes_max, Time now);

  [[nodiscard]] std::optional<Line> choose_line(const Call& call) const;
  [[nodiscard]] std::optional<Lane> choose_lane(const Call& call, const Line& line) const;
  void visit(Call& call, const Line& line);
  void take(Call& call, const Line& line, const Lane& lane, std::int64_t count);

  std::vector<Entry> entries_;
  std::int64_t last_place_ = 0;
  std::set<std::string> known_;                // lanes
  std::map<std::string, std::string> parked_;  // lane, gate
  std::map<std::string, Gate> gates_;
  std::map<std::pair<Rank, std::string>, std::int64_t> virtual_times_;  // by owner
  std::map<Rank, std::int64_t> clocks_;
  std::map<std::string, std::int64_t> served_;  // by line
  std::map<std::string, std::int64_t> turns_;
  std::int64_t last_turn_ = 0;
  std::map<std::set<std::string>, std::int64_t> pool_visits_;
  Weights weights_;
};

}  // namespace drover::test
