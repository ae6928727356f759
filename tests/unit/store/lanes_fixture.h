// What the tests of lanes and gates share: a store with shortest ways to fill lanes, to claim and to set gates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/sqlite/meter.h"
#include "unit/store/store_fixture.h"

namespace drover::test {

struct In {
  std::string queue = "q";
  int rank = 5;
  std::string owner = "ann";
  std::string type = "t";
  std::int64_t cost = 1;
  std::vector<std::string> gates = {};
};

class Lanes : public ::testing::Test {
 protected:
  Lanes();

  // So many tasks in one lane; returns the number of the first. Numbers count from 1.
  int add(const In& in, int count = 1);
  [[nodiscard]] static TaskId id(int number);
  // Numbers of what was claimed, in order.
  std::vector<int> claim(int n, std::vector<Serve> serves = {{"q", {}}}, std::optional<ReservedSlots> reserved = {});
  Claimed claim_records(int n, std::vector<Serve> serves = {{"q", {}}}, std::optional<ReservedSlots> reserved = {});
  [[nodiscard]] static int number_of(const TaskRecord& record);

  void end(int number, const Trigger& trigger = trigger::Complete{});

  // Replaces the holds and the rate of a gate.
  void set_gate(GateRecord record);
  void close(const std::string& gate, Time until = kUntilOpened);
  void open(const std::string& gate) { set_gate({.name = gate}); }
  void limit(const std::string& gate, int permits);
  void set_rate(const std::string& gate, Rate rate);
  GateState gate(const std::string& name);
  std::optional<std::string> parked_at(int number);
  void expect_sound();

  sqlite::Meter meter_;
  StoreUnderTest sut_;
  int last_ = 0;
  int last_lease_ = 0;
};

}  // namespace drover::test
