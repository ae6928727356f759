#include "core/gate_json.h"

#include "base/json.h"
#include "core/budget_json.h"

namespace drover {
namespace {

using json::Writer;

void put_time(Writer& out, std::string_view key, const std::optional<Time>& time) {
  out.key(key);
  if (!time) {
    out.null();
  } else {
    out.string(*time == kUntilOpened ? "opened" : format_time(*time));
  }
}

template <class T>
void put_number(Writer& out, std::string_view key, const std::optional<T>& number) {
  out.key(key);
  number ? out.number(*number) : out.null();
}

void write(Writer& out, const Hold& hold) {
  out.begin_object().key("source").string(name_of(hold.source));
  put_time(out, "closed_until", hold.closed_until);
  put_number(out, "permits", hold.permits);
  out.key("why").string(hold.why).key("by").string(hold.by).key("since").string(format_time(hold.since)).end_object();
}

void write(Writer& out, const GateStatus& gate) {
  out.begin_object().key("name").string(gate.name);
  put_time(out, "closed_until", gate.closed_until);
  put_number(out, "permits", gate.permits);
  put_number(out, "in_use", gate.in_use);
  out.key("rate");
  gate.rate ? out.string(to_string(*gate.rate)) : out.null();
  put_number(out, "burst", gate.rate ? std::optional(gate.rate->burst) : std::nullopt);
  out.key("waiting_lanes").number(gate.waiting_lanes).key("waiting_tasks").number(gate.waiting_tasks);
  out.key("would_start").number(gate.would_start).key("holds").begin_array();
  for (const Hold& hold : gate.holds) write(out, hold);
  out.end_array();
  if (!gate.budgets.empty()) {
    out.key("budgets").begin_array();
    for (const BudgetStatus& budget : gate.budgets) write_json(out, budget);
    out.end_array();
  }
  out.end_object();
}

void write(Writer& out, const HeldTasks& held) {
  out.begin_object().key("gate").string(held.gate).key("tasks").number(held.tasks);
  out.key("since").string(format_time(held.since)).key("shut").boolean(held.shut).key("why").string(held.why);
  out.end_object();
}

void write(Writer& out, const Explanation::Link& link) {
  out.begin_object().key("id").string(link.id.to_string()).key("state").string(name_of(link.state));
  out.key("reason").string(name_of(link.reason)).key("text").string(link.text).key("gate");
  link.gate ? out.string(*link.gate) : out.null();
  put_time(out, "at", link.at);
  out.end_object();
}

}  // namespace

std::string to_json(const GateStatus& gate) {
  Writer out;
  write(out, gate);
  return std::move(out).take();
}

std::string to_json(const QueueStatus& queue) {
  Writer out;
  out.begin_object().key("name").string(queue.name).key("waiting").number(queue.waiting);
  out.key("running").number(queue.running).key("scheduled").number(queue.scheduled);
  out.key("blocked").number(queue.blocked).key("gate");
  if (queue.gate) {
    write(out, *queue.gate);
  } else {
    out.null();
  }
  out.key("held").begin_array();
  for (const HeldTasks& held : queue.held) write(out, held);
  out.end_array().end_object();
  return std::move(out).take();
}

std::string to_json(const Explanation& explanation) {
  Writer out;
  out.begin_object().key("reason").string(name_of(explanation.reason)).key("text").string(explanation.text);
  out.key("gate");
  explanation.gate ? out.string(*explanation.gate) : out.null();
  put_time(out, "at", explanation.at);
  put_number(out, "ahead", explanation.ahead);
  out.key("waits_for").begin_array();
  for (const TaskId& id : explanation.waits_for) out.string(id.to_string());
  out.end_array().key("refusing").begin_array();
  for (const GateStatus& gate : explanation.refusing) write(out, gate);
  out.end_array().key("chain").begin_array();
  for (const Explanation::Link& link : explanation.chain) write(out, link);
  out.end_array().end_object();
  return std::move(out).take();
}

std::string to_json(const StuckReport& report) {
  Writer out;
  out.begin_object().key("groups").begin_array();
  for (const StuckGroup& group : report.groups) {
    out.begin_object().key("reason").string(name_of(group.reason)).key("gate");
    group.gate ? out.string(*group.gate) : out.null();
    out.key("queue");
    group.queue ? out.string(*group.queue) : out.null();
    out.key("tasks").number(group.tasks).key("since").string(format_time(group.since));
    out.key("example").string(group.example.to_string()).key("text").string(group.text);
    put_time(out, "at", group.at);
    out.end_object();
  }
  out.end_array().key("unexamined").number(report.unexamined);
  out.key("scheduled").number(report.scheduled).key("blocked").number(report.blocked).end_object();
  return std::move(out).take();
}

}  // namespace drover
