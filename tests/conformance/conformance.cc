#include "conformance/conformance.h"

#include <fmt/format.h>

#include <map>

#include "base/json.h"
#include "core/task_json.h"

namespace drover::test {
namespace {

constexpr int kPage = 100;
constexpr Millis kLongLease{24h};
constexpr std::string_view kEventPrefix = "task.";

}  // namespace

void PrintTo(const World& world, std::ostream* out) {
  *out << "last event " << world.last_event_seq;
  for (const Task& task : world.tasks) *out << "\n  " << to_json(task);
  for (const RunSummary& run : world.runs) *out << "\n  " << to_json(run);
  for (const std::string& line : world.log) *out << "\n  log: " << line;
}

void ConformanceTest::TearDown() {
  if (IsSkipped()) ADD_FAILURE() << "a store that cannot do something fails, it does not skip";
  if (HasFatalFailure()) return;
  for (const Finding& finding : must(queue().fsck(FsckMode::kCheck)))
    ADD_FAILURE() << ::testing::PrintToString(finding);

  std::map<TaskId, Event> last;
  std::int64_t seq = 0;
  for (const Event& event : all_events()) {
    EXPECT_GT(event.seq, seq);
    seq = event.seq;
    last[event.task] = event;
  }
  for (const Task& task : all_tasks()) {
    const auto it = last.find(task.id);
    if (it == last.end()) continue;  // retention took its events
    EXPECT_EQ(it->second.state, task.state) << task.id.to_string();
    EXPECT_EQ(it->second.run, task.run) << task.id.to_string();
    EXPECT_EQ(it->second.generation, task.generation) << task.id.to_string();
  }
}

void ConformanceTest::pass(Millis by) {
  advance(by);
  sweep();
}

TaskId ConformanceTest::enqueue(const TaskSpec& spec) {
  return must(queue().enqueue_one(spec)).id;
}

std::vector<TaskId> ConformanceTest::enqueue_all(const std::vector<TaskSpec>& group) {
  std::vector<TaskId> ids;
  for (const Enqueued& enqueued : must(queue().enqueue(group))) ids.push_back(enqueued.id);
  return ids;
}

void ConformanceTest::apply_config(const JsonText& document) {
  must(queue().apply_config(document, must(queue().config()).version));
}

void ConformanceTest::set_limits(const std::string& limits_json) {
  apply_config(fmt::format(R"({{"limits":{}}})", limits_json));
}

GateStatus ConformanceTest::close_gate(const std::string& gate, Time until) {
  return must(queue().set_gate({.gate = gate, .what = GateOrder::Close{until}, .why = "a test", .by = "me@here"}));
}

GateStatus ConformanceTest::open_gate(const std::string& gate) {
  return must(queue().set_gate({.gate = gate, .what = GateOrder::Open{}, .why = "enough", .by = "me@here"}));
}

GateStatus ConformanceTest::limit_gate(const std::string& gate, std::optional<int> permits) {
  return must(queue().set_gate({.gate = gate, .what = GateOrder::Limit{permits}, .why = "a test", .by = "me@here"}));
}

std::optional<GateStatus> ConformanceTest::gate(const std::string& name) {
  for (GateStatus& gate : must(queue().gates())) {
    if (gate.name == name) return std::move(gate);
  }
  return std::nullopt;
}

std::string ConformanceTest::gate_story() {
  std::string story;
  for (const Event& event : all_events()) {
    const bool is_of_gates =
        event.name.starts_with("gate.") || event.name.starts_with("breaker.") || event.name.starts_with("provider.");
    if (!is_of_gates) continue;
    const auto data = json::parse(event.data);
    const json::Value* name = data ? data->find("gate") : nullptr;
    if (!story.empty()) story += ' ';
    story += fmt::format("{} {}", event.name, name != nullptr ? *name->as_string() : "?");
  }
  return story;
}

int ConformanceTest::startable(int at_most) {
  int started = 0;
  std::vector<Lease> leases;
  while (started < at_most) {
    const auto claimed = claim(1);
    if (claimed.empty()) break;
    leases.push_back(claimed.front().lease);
    ++started;
  }
  for (const Lease& lease : leases) release(lease);
  return started;
}

std::vector<ClaimedTask> ConformanceTest::claim(const std::vector<Serve>& serves, int n, Millis lease) {
  return claim({.worker_id = "host:1:a", .serves = serves, .n = n, .lease = lease});
}

ClaimedTask ConformanceTest::claim_one() {
  auto claimed = claim(1);
  if (claimed.size() != 1) throw std::runtime_error("nothing to claim in \"work\"");
  return std::move(claimed.front());
}

Lease ConformanceTest::start(const TaskId& id) {
  const ClaimedTask claimed = claim_one();
  if (claimed.task.id != id) throw std::runtime_error("another task was next in \"work\"");
  return claimed.lease;
}

Lease ConformanceTest::start_new(const TaskSpec& spec) {
  return start(enqueue(spec));
}

TaskState ConformanceTest::complete(const Lease& lease, std::optional<JsonText> result) {
  return must(queue().complete(lease, {.result = std::move(result)})).state;
}

TaskState ConformanceTest::fail(const Lease& lease, ErrorClass error_class, const std::string& text) {
  return must(queue().fail(lease, {.error_class = error_class, .message = text})).state;
}

Result<Settled> ConformanceTest::try_settle(const Settlement& item) {
  auto answers = queue().settle(std::span(&item, 1));
  if (answers.size() != 1) throw std::runtime_error("settle did not answer one by one");
  return std::move(answers.front());
}

LeaseState ConformanceTest::renew(const Lease& lease, Millis by) {
  const Beat beat = must(queue().renew("host:1:a", std::span(&lease, 1), by));
  if (beat.leases.size() != 1) throw std::runtime_error("renew did not answer one by one");
  return beat.leases.front();
}

void ConformanceTest::lose(const Lease& lease) {
  pass(kLease + 1ms);
  if (state(lease.task) == TaskState::kRunning) throw std::runtime_error("the lease was not taken back");
}

std::vector<TaskId> ConformanceTest::drain() {
  std::vector<TaskId> order;
  for (auto claimed = claim(1); !claimed.empty(); claimed = claim(1)) {
    order.push_back(claimed.front().task.id);
    complete(claimed.front().lease);
  }
  return order;
}

ConformanceTest::Placed ConformanceTest::place_in(TaskState state) {
  const auto started = [this](Millis lease_ms = kLongLease) {
    const std::string type = fmt::format("placed-{}", ++placed_);  // claimed past whatever else waits there
    enqueue({.type = type, .queue = "work"});
    const auto claimed = claim({{.queue = "work", .type = type}}, 1, lease_ms);
    return Placed{claimed.at(0).task.id, claimed.at(0).lease};
  };
  switch (state) {
    case TaskState::kBlocked:
      return {enqueue_after(enqueue({.type = "parent"})), {}};
    case TaskState::kScheduled:
      return {enqueue({.type = "work", .delay = 1h}), {}};
    case TaskState::kPending:
      return {enqueue_work(), {}};
    case TaskState::kRunning:
      return started();
    case TaskState::kStalled: {
      const Placed placed = started(kLease);
      lose(*placed.lease);
      return placed;
    }
    case TaskState::kCompleted: {
      const Placed placed = started();
      complete(*placed.lease);
      return placed;
    }
    case TaskState::kFailed: {
      const Placed placed = started();
      fail(*placed.lease, ErrorClass::kInvalid);
      return placed;
    }
    case TaskState::kCancelled: {
      const Placed placed = started();
      cancel(placed.id);
      settle({*placed.lease, CancelConfirmed{}});
      return placed;
    }
  }
  throw std::runtime_error("no such state");
}

std::vector<Event> ConformanceTest::all_events() {
  std::vector<Event> all;
  for (;;) {
    const auto page = must(queue().events(all.empty() ? 0 : all.back().seq, kPage));
    if (page.empty()) return all;
    all.insert(all.end(), page.begin(), page.end());
  }
}

std::vector<Event> ConformanceTest::events_of(const TaskId& id) {
  auto events = all_events();
  std::erase_if(events, [&](const Event& event) { return event.task != id; });
  return events;
}

std::string ConformanceTest::story(const TaskId& id) {
  std::string names;
  for (const Event& event : events_of(id)) {
    if (!names.empty()) names += ' ';
    names += event.name.starts_with(kEventPrefix) ? event.name.substr(kEventPrefix.size()) : event.name;
  }
  return names;
}

std::vector<Task> ConformanceTest::all_tasks(const TaskFilter& filter) {
  std::vector<Task> all;
  std::optional<std::string> cursor;
  do {
    TaskPage page = must(queue().list(filter, kPage, cursor));
    all.insert(all.end(), page.tasks.begin(), page.tasks.end());
    cursor = page.cursor;
  } while (cursor);
  return all;
}

std::string ConformanceTest::log_text(const TaskId& id) {
  std::string text;
  std::int64_t after = 0;
  for (;;) {
    const LogPage page = must(queue().log(id, after, kPage));
    if (page.records.empty()) return text;
    for (const LogRecord& record : page.records) text += record.text;
    after = page.records.back().seq;
  }
}

World ConformanceTest::world() {
  World world;
  for (const Task& head : all_tasks()) {
    world.tasks.push_back(get(head.id));
    for (const RunSummary& run : must(queue().runs(head.id))) world.runs.push_back(run);
    world.log.push_back(log_text(head.id));
  }
  world.last_event_seq = must(queue().last_event_seq());
  return world;
}

}  // namespace drover::test
