// Gates, queues, policy, dead letters and numbers.
#include <array>

#include "core/ledger.h"
#include "server/api.h"
#include "wire/filter_query.h"

namespace drover::server {
namespace {

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
  if (const Status known = call.only({"owner"}); !known) return problem(known.error());
  const auto owner = call.parameter("owner");
  return respond(owner ? call.queue.owner_stats(*owner) : call.queue.stats());
}

Answer stuck(const Call& call) {
  if (const Status known = call.only({"owner"}); !known) return problem(known.error());
  return respond(call.queue.stuck(call.parameter("owner")));
}

// ?by=day,owner&from=2026-11-01&to=2026-11-30&owner=O&type=T
Answer usage(const Call& call) {
  if (const Status known = call.only({"by", "from", "to", "owner", "type"}); !known) return problem(known.error());
  UsageQuery query{.from = call.parameter("from").value_or(""),
                   .to = call.parameter("to").value_or(""),
                   .owner = call.parameter("owner"),
                   .type = call.parameter("type")};
  auto by = parse_usage_dimensions(call.parameter("by").value_or("day"));
  if (!by) return problem(by.error());
  query.by = *std::move(by);
  return respond_list("rows", call.queue.usage(query));
}

Answer alerts(const Call& call) {
  return respond_list("alerts", call.queue.alerts());
}

Answer config(const Call& call) {
  return respond(call.queue.config());
}

Answer config_versions(const Call& call) {
  return respond_list("versions", call.queue.config_versions());
}

Answer config_at(const Call& call) {
  const auto version = read_number("version", call.captures[0], INT64_MAX);
  return respond(version ? call.queue.config_at(*version) : std::unexpected(version.error()));
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

constexpr std::array kOperateRoutes{
    Route{"GET", "/v1/gates", gates},
    Route{"POST", "/v1/gates/{name}", set_gate},
    Route{"GET", "/v1/queues", queues},
    Route{"GET", "/v1/dlq", dead_letters},
    Route{"GET", "/v1/stats", stats},
    Route{"GET", "/v1/alerts", alerts},
    Route{"GET", "/v1/stuck", stuck},
    Route{"GET", "/v1/usage", usage},
    Route{"GET", "/v1/config", config},
    Route{"PUT", "/v1/config", apply_config},
    Route{"GET", "/v1/config/versions", config_versions},
    Route{"GET", "/v1/config/versions/{version}", config_at},
    Route{"POST", "/v1/fsck", fsck},
};

}  // namespace

std::span<const Route> operate_routes() {
  return kOperateRoutes;
}

}  // namespace drover::server
