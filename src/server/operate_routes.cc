// Gates, queues, policy, dead letters, events and numbers.
#include <array>
#include <climits>

#include "server/api.h"
#include "wire/filter_query.h"

namespace drover::server {
namespace {

constexpr int kEventLimit = 100;

Answer gates(const Call& call) {
  return respond_list("gates", call.queue.gates());
}

// {"action": "open" | "close" | "limit", "until", "permits", "why", "by"}
Answer set_gate(const Call& call) {
  GateOrder order{.gate = call.captures[0], .what = GateOrder::Open{}, .why = {}, .by = {}};
  std::string action;
  std::optional<Time> until;
  std::optional<int> permits;
  json::Reader body(call.request.body);
  body.need("action", action).get("until", until).get("permits", permits).get("why", order.why).get("by", order.by);
  if (action == "close") {
    order.what = GateOrder::Close{until.value_or(kUntilOpened)};
  } else if (action == "limit") {
    order.what = GateOrder::Limit{permits};
  } else if (action != "open") {
    body.refuse("action: expected open, close or limit");
  }
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  return respond(call.queue.set_gate(order));
}

Answer queues(const Call& call) {
  return respond_list("queues", call.queue.queues());
}

Answer dead_letters(const Call& call) {
  const auto filter = filter_of_query(call.target.query, {});
  if (!filter) return problem(filter.error());
  return respond_list("groups", call.queue.error_groups(*filter));
}

Answer stats(const Call& call) {
  return respond(call.queue.stats());
}

Answer alerts(const Call& call) {
  return respond_list("alerts", call.queue.alerts());
}

Answer config(const Call& call) {
  return respond(call.queue.config());
}

Answer apply_config(const Call& call) {
  Config config;
  if (const Status read = read_json(call.request.body, config); !read) return problem(read.error());
  return respond(call.queue.apply_config(config.document, config.version));
}

Answer fsck(const Call& call) {
  bool repair = false;
  json::Reader body(body_of(call));
  body.get("repair", repair);
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  return respond_list("findings", call.queue.fsck(repair ? FsckMode::kRepair : FsckMode::kCheck));
}

Answer events(const Call& call) {
  if (const Status known = call.only({"after", "limit"}); !known) return problem(known.error());
  const auto after = call.number("after", 0, INT64_MAX);
  const auto limit = call.number("limit", kEventLimit, INT_MAX);
  if (!after) return problem(after.error());
  if (!limit) return problem(limit.error());
  const auto page = call.queue.events_page(*after, static_cast<int>(*limit));
  if (!page) return problem(page.error());
  std::string body = list_json("events", page->events);
  body.pop_back();
  return json_response(fmt::format(R"({},"next":{}}})", body, page->next));
}

Answer last_event(const Call& call) {
  const auto seq = call.queue.last_event_seq();
  if (!seq) return problem(seq.error());
  return json_response(fmt::format(R"({{"seq":{}}})", *seq));
}

// For those who look again when something has happened: a number that differs from the last one then.
Answer changes(const Call& call) {
  if (const Status known = call.only({"seen", "timeout", "queue"}); !known) return problem(known.error());
  const auto timeout = call.duration("timeout", kWaitMax, kWaitMax);
  if (!timeout) return problem(timeout.error());
  const std::string now = std::to_string(call.queue.changes());
  if (call.parameter("seen") != now || call.attempt == Try::kLast) {
    return json_response(fmt::format(R"({{"changes":{}}})", now));
  }
  Wait::Work work;
  for (const auto& [name, value] : call.target.query) {
    if (name == "queue") work.queues.push_back(value);
  }
  if (work.queues.empty()) return Wait{.for_what = Wait::Change{}, .at_most = *timeout};
  return Wait{.for_what = std::move(work), .at_most = *timeout};
}

constexpr std::array kOperateRoutes{
    Route{"GET", "/v1/gates", gates},
    Route{"POST", "/v1/gates/{name}", set_gate},
    Route{"GET", "/v1/queues", queues},
    Route{"GET", "/v1/dlq", dead_letters},
    Route{"GET", "/v1/stats", stats},
    Route{"GET", "/v1/alerts", alerts},
    Route{"GET", "/v1/config", config},
    Route{"PUT", "/v1/config", apply_config},
    Route{"POST", "/v1/fsck", fsck},
    Route{"GET", "/v1/events", events},
    Route{"GET", "/v1/events/last", last_event},
    Route{"GET", "/v1/changes", changes},
};

}  // namespace

std::span<const Route> operate_routes() {
  return kOperateRoutes;
}

}  // namespace drover::server
