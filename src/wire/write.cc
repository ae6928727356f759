#include "wire/write.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "core/ledger.h"
#include "core/names.h"
#include "core/run_report.h"

namespace drover {
namespace {

using json::Writer;

constexpr Names<3> kLeaseStateNames{"held", "cancel_requested", "lost"};

// Members of an object of which only those that are set are written.
class Members {
 public:
  Members() { out_.begin_object(); }

  Members& text(std::string_view name, const std::optional<std::string>& value) {
    if (value) out_.key(name).string(*value);
    return *this;
  }
  Members& json(std::string_view name, const std::optional<JsonText>& value) {
    if (value) out_.key(name).raw(value->empty() ? " " : *value);  // no text is no JSON, as its reader will say
    return *this;
  }
  template <class Number>
  Members& number(std::string_view name, const std::optional<Number>& value) {
    if (value) out_.key(name).number(*value);
    return *this;
  }
  Members& boolean(std::string_view name, const std::optional<bool>& value) {
    if (value) out_.key(name).boolean(*value);
    return *this;
  }
  Members& millis(std::string_view name, const std::optional<Millis>& value) {
    if (value) out_.key(name).number(value->count());
    return *this;
  }
  Members& duration(std::string_view name, const std::optional<Millis>& value) {
    if (value) out_.key(name).string(format_duration(*value));
    return *this;
  }
  Members& time(std::string_view name, const std::optional<Time>& value) {
    if (value) out_.key(name).string(format_time(*value));
    return *this;
  }
  Members& id(std::string_view name, const std::optional<TaskId>& value) {
    if (value) out_.key(name).string(value->to_string());
    return *this;
  }
  template <class Enum>
  Members& name(std::string_view name, const std::optional<Enum>& value) {
    if (value) out_.key(name).string(name_of(*value));
    return *this;
  }
  Members& texts(std::string_view name, const std::vector<std::string>& values) {
    if (values.empty()) return *this;
    out_.key(name).begin_array();
    for (const std::string& value : values) out_.string(value);
    out_.end_array();
    return *this;
  }
  template <class Items>
  Members& items(std::string_view name, const Items& items) {
    out_.key(name).begin_array();
    for (const auto& item : items) out_.raw(to_json(item));
    out_.end_array();
    return *this;
  }
  [[nodiscard]] Writer& out() { return out_; }
  [[nodiscard]] std::string take() {
    out_.end_object();
    return std::move(out_).take();
  }

 private:
  Writer out_;
};

void put_end(Members& members, const Completion& end) {
  members.text("end", "complete").json("result", end.result).number("exit_code", end.exit_code);
  members.text("note", end.note);
}
void put_end(Members& members, const Failure& end) {
  members.text("end", "fail").name("class", std::optional(end.error_class)).text("message", end.message);
  members
      .millis("retry_after_ms", end.retry_after ? std::optional(std::max(*end.retry_after, Millis{0})) : std::nullopt)
      .number("exit_code", end.exit_code)
      .text("note", end.note);
  if (end.by_exit_code) members.boolean("by_exit_code", true);
  members.text("waits_at", end.waits_at);
}
void put_end(Members& members, const Release& end) {
  members.text("end", "release");
  if (end.begun == Begun::kNo) members.out().key("begun").boolean(false);
  if (end.begun == Begun::kNotHere) members.out().key("not_here").boolean(true);
}
void put_end(Members& members, const CancelConfirmed& end) {
  members.text("end", "cancelled").number("exit_code", end.exit_code);
}

void put_end(Members& members, const Suspend& end) {
  members.text("end", "suspend").number("exit_code", end.exit_code);
  if (!end.children) return;
  members.out().key("children").begin_array();
  for (const TaskId& child : *end.children) members.out().string(child.to_string());
  members.out().end_array();
}

void put_report(Members& members, const RunReport& report) {
  if (report.agent) members.json("agent", agent_json(*report.agent));
  if (report.usage) members.json("usage", usage_json(*report.usage));
  members.json("evidence", report.evidence);
  if (report.provider) members.json("provider", provider_signal_json(*report.provider));
  if (report.at_door) members.boolean("at_door", true);
}

}  // namespace

std::string_view name_of(LeaseState state) {
  return name_in(kLeaseStateNames, state);
}

std::string to_json(const CancelOutcome& outcome) {
  Members members;
  members.name("state", std::optional(outcome.state)).number("cancelled", std::optional(outcome.cancelled));
  members.number("requested", std::optional(outcome.requested));
  return members.take();
}

std::string to_json(const Backlog& backlog) {
  Members members;
  members.number("waiting", std::optional(backlog.waiting)).number("running", std::optional(backlog.running));
  members.number("blocked", std::optional(backlog.blocked));
  return members.take();
}

std::string to_json(const Finding& finding) {
  Members members;
  members.text("code", finding.code).text("detail", finding.detail).boolean("repaired", finding.repaired);
  return members.take();
}

std::string to_json(const Config& config) {
  Members members;
  members.number("version", std::optional(config.version)).json("document", config.document);
  return members.take();
}

std::string to_json(const ConfigVersion& version) {
  Members members;
  members.number("version", std::optional(version.version)).time("applied_at", version.applied_at);
  return members.take();
}

std::string to_json(const Serve& serve) {
  Members members;
  members.text("queue", serve.queue).text("type", serve.type);
  if (!serve.trouble.empty()) members.text("trouble", serve.trouble);
  return members.take();
}

std::string to_json(const Lease& lease) {
  Members members;
  members.id("task_id", lease.task).text("lease_id", lease.id.to_string());
  return members.take();
}

std::string to_json(const LogChunk& chunk) {
  Members members;
  members.name("stream", std::optional(chunk.stream)).text("text", chunk.text);
  return members.take();
}

std::string to_json(const Progress& progress) {
  Members members;
  members.number("percent", std::optional(progress.percent)).text("message", progress.message);
  return members.take();
}

std::string to_json(const ClaimRequest& request) {
  Members members;
  members.items("serves", request.serves).number("n", std::optional(request.n));
  members.millis("lease_ms", request.lease).number("capacity", std::optional(request.capacity));
  members.out().key("running_priorities").begin_array();
  for (const int priority : request.running_priorities) members.out().number(priority);
  members.out().end_array();
  if (request.claim_key) members.text("claim_key", *request.claim_key);
  return members.take();
}

std::string to_json(const ClaimedTask& claimed) {
  Members members;
  members.json("task", to_json(claimed.task)).text("lease_id", claimed.lease.id.to_string());
  members.items("earlier_runs", claimed.earlier_runs);
  return members.take();
}

std::string to_json(const Beat& beat) {
  Members members;
  members.out().key("leases").begin_array();
  for (const LeaseState state : beat.leases) members.out().string(name_of(state));
  members.out().end_array();
  members.boolean("drain", beat.drain);
  return members.take();
}

std::string to_json(const Settlement& settlement) {
  Members members;
  members.id("task_id", settlement.lease.task).text("lease_id", settlement.lease.id.to_string());
  std::visit([&](const auto& end) { put_end(members, end); }, settlement.end);
  put_report(members, settlement.report);
  return members.take();
}

std::string to_json(const LeaseId& lease, const RunReport& report) {
  Members members;
  members.text("lease_id", lease.to_string());
  put_report(members, report);
  return members.take();
}

std::string to_json(const UsageRow& row) {
  Members members;
  std::vector<UsageDimension> by;
  for (const auto& [dimension, name] : row.names) {
    members.text(name_of(dimension), name);
    by.push_back(dimension);
  }
  if (tells_runs(by)) members.number("runs", std::optional(row.amounts.runs));
  if (!tells_usage(by)) return members.take();
  const AmountNumbers numbers = numbers_of(row.amounts);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string_view name = kAmountFields[i].name;
    if (name != "runs" && !name.ends_with("_cost")) members.number(name, std::optional(numbers[i]));
  }
  const auto dollars = [&](std::string_view name, MicroDollars amount) {
    members.out().key(name).raw(format_dollars(amount));
  };
  dollars("cost_usd", row.amounts.reported_cost + row.amounts.table_cost);
  dollars("reported_cost_usd", row.amounts.reported_cost);
  dollars("table_cost_usd", row.amounts.table_cost);
  return members.take();
}

std::string to_json(const RetryOrder& order) {
  Members members;
  members.text("why", order.verdict.why).json("payload", order.payload);
  members.json("patch", order.patch).time("run_at", order.run_at);
  return members.take();
}

std::string to_json(const EditOrder& order) {
  Members members;
  members.number("priority", order.priority).time("run_at", order.run_at).duration("delay", order.delay);
  members.json("payload", order.payload).json("patch", order.patch);
  if (order.tags) {
    members.out().key("tags").begin_array();
    for (const std::string& tag : *order.tags) members.out().string(tag);
    members.out().end_array();
  }
  return members.take();
}

std::string to_json(const TaskPage& page) {
  Members members;
  members.items("tasks", page.tasks).out().key("cursor");
  page.cursor ? members.out().string(*page.cursor) : members.out().null();
  members.out().key("searched");
  page.searched ? members.out().raw(to_json(*page.searched)) : members.out().null();
  return members.take();
}

std::string to_json(const SavedView& view) {
  Members members;
  members.text("name", view.name).text("query", view.query).time("updated_at", view.updated_at);
  return members.take();
}

std::string to_json(const Searched& searched) {
  Members members;
  members.number("tasks", std::optional(searched.tasks)).time("back_to", searched.back_to);
  return members.take();
}

std::string to_json(const LogPage& page) {
  Members members;
  members.items("records", page.records).number("left_out_bytes", std::optional(page.left_out_bytes));
  return members.take();
}

std::string to_json(const NewToken& order) {
  Members members;
  members.name("role", std::optional(order.role)).text("owner", order.owner).texts("queues", order.queues);
  members.text("note", order.note).millis("expires_in_ms", order.expires_in).text("by", order.by);
  return members.take();
}

std::string to_json(const Epoch& epoch) {
  Members members;
  members.number("number", std::optional(epoch.number)).text("id", epoch.id);
  members.number("after", std::optional(epoch.after)).name("cause", std::optional(epoch.cause));
  return members.take();
}

std::string to_json(const Loss& loss) {
  Members members;
  members.number("from", std::optional(loss.first)).number("to", std::optional(loss.last));
  return members.take();
}

std::string to_json(const StoreState& state) {
  Members members;
  members.number("last_event", std::optional(state.extent.seq));
  members.json("lost", state.loss ? to_json(*state.loss) : "null").items("epochs", state.extent.epochs);
  members.items("missing", state.missing);
  return members.take();
}

std::string to_json(const FleetLook& look) {
  Members members;
  members.time("now", look.now).items("workers", look.workers).items("alerts", look.alerts);
  return members.take();
}

std::string to_json(const DumpIds& page) {
  Members members;
  members.out().key("ids").begin_array();
  for (const TaskId& id : page.ids) members.out().string(id.to_string());
  members.out().end_array().key("cursor");
  page.cursor ? members.out().string(*page.cursor) : members.out().null();
  return members.take();
}

std::string to_json(const DumpCounts& counts) {
  Members members;
  members.number("gates", std::optional(counts.gates)).number("tasks", std::optional(counts.tasks));
  members.number("events", std::optional(counts.events));
  return members.take();
}

std::string to_json(const Introduction& introduction) {
  Members members;
  members.text("version", introduction.version).time("now", introduction.now);
  members.text("token_id", introduction.token_id).name("role", std::optional(introduction.role));
  members.out().key("owner");
  introduction.owner ? members.out().string(*introduction.owner) : members.out().null();
  members.out().key("queues").begin_array();
  for (const std::string& queue : introduction.queues) members.out().string(queue);
  members.out().end_array();
  return members.take();
}

}  // namespace drover
