#include "unit/store/lanes_fixture.h"

namespace drover::test {
namespace {

constexpr int kGroupMax = 1'000;

SqliteOptions metered(sqlite::Meter& meter) {
  SqliteOptions options;
  options.meter = &meter;
  return options;
}

template <class Id>
Id numbered(int number) {
  typename Id::Bytes bytes{};
  bytes[0] = 1;
  for (std::size_t i = 0; i < 4; ++i) bytes[15 - i] = static_cast<std::uint8_t>(number >> (8 * i));
  return Id(bytes);
}

}  // namespace

Lanes::Lanes() : sut_(metered(meter_)) {}

TaskId Lanes::id(int number) {
  return numbered<TaskId>(number);
}

int Lanes::number_of(const TaskRecord& record) {
  const auto& bytes = record.task.id.bytes();
  return (bytes[12] << 24) | (bytes[13] << 16) | (bytes[14] << 8) | bytes[15];
}

int Lanes::add(const In& in, int count) {
  const int first = last_ + 1;
  while (count > 0) {
    StepGroup group;
    for (int i = 0; i < kGroupMax && count > 0; ++i, --count) {
      TaskRecord record;
      record.task.id = id(++last_);
      record.task.queue = in.queue;
      record.task.priority = in.rank;
      record.task.owner = in.owner;
      record.task.type = in.type;
      record.task.cost = in.cost;
      record.task.gates = in.gates;
      record.task.created_at = sut_.clock().wall();
      group.steps.push_back(first_step(std::move(record), sut_.context()));
    }
    EXPECT_EQ(must(sut_->apply(std::vector{std::move(group)})), std::vector{Applied::kDone});
  }
  return first;
}

Claimed Lanes::claim_records(int n, std::vector<Serve> serves, std::optional<ReservedSlots> reserved) {
  const ClaimRequest request{.worker_id = "w", .serves = std::move(serves), .n = n};
  std::vector<LeaseId> leases;
  for (int i = 0; i < n; ++i) leases.push_back(numbered<LeaseId>(++last_lease_));
  return must(sut_->claim(request, leases, reserved));
}

std::vector<int> Lanes::claim(int n, std::vector<Serve> serves, std::optional<ReservedSlots> reserved) {
  std::vector<int> numbers;
  for (const TaskRecord& record : claim_records(n, std::move(serves), reserved).records) {
    numbers.push_back(number_of(record));
  }
  return numbers;
}

void Lanes::end(int number, const Trigger& trigger) {
  sut_.step(id(number), trigger);
}

void Lanes::set_gate(GateRecord record) {
  StepGroup group;
  group.gates = {{.name = record.name,
                  .expected_revision = gate(record.name).record.revision,
                  .next = std::move(record),
                  .events = {}}};
  EXPECT_EQ(must(sut_->apply(std::vector{std::move(group)})), std::vector{Applied::kDone});
}

void Lanes::close(const std::string& gate, Time until) {
  GateRecord record{.name = gate};
  set_hold(record, {.source = HoldSource::kOperator, .closed_until = until});
  set_gate(std::move(record));
}

void Lanes::limit(const std::string& gate, int permits) {
  GateRecord record{.name = gate};
  set_hold(record, {.source = HoldSource::kPolicy, .permits = permits});
  set_gate(std::move(record));
}

void Lanes::set_rate(const std::string& gate, Rate rate) {
  set_gate({.name = gate, .rate = rate});
}

GateState Lanes::gate(const std::string& name) {
  return must(sut_->read_gates(std::vector{name})).at(0);
}

std::optional<std::string> Lanes::parked_at(int number) {
  const auto position = must(sut_->lane_position(id(number)));
  if (!position) throw std::runtime_error("it stands in no lane");
  return position->parked_at;
}

void Lanes::expect_sound() {
  EXPECT_EQ(codes_of(must(sut_->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

}  // namespace drover::test
