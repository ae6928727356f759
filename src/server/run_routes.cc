// /v1/tasks/{id}: what the worker of a running task says of it, with the proof that it may.
#include <array>

#include "base/json.h"
#include "base/try.h"
#include "core/budget_json.h"
#include "server/api.h"

namespace drover::server {
namespace {

// Every body has the lease's id; the task is that of the path.
Result<Lease> need_lease(const Call& call, json::Reader& body) {
  const auto id = TRY(call.task_id());
  Lease lease{.task = id, .id = {}};
  body.need("lease_id", lease.id);
  return lease;
}

std::string settled_json(const Result<Settled>& settled) {
  if (!settled) {
    return fmt::format(R"({{"code":"{}","detail":{}}})", error_info(settled.error().code).name,
                       json::quote(settled.error().message));
  }
  const std::string_view state = name_of(settled->state);
  const std::optional<std::string>& outcome = settled->replayed;
  if (!outcome) return fmt::format(R"({{"state":"{}"}})", state);
  return fmt::format(R"({{"state":"{}","replayed":true,"outcome":"{}"}})", state, *outcome);
}

template <class End>
Answer settle(const Call& call) {
  json::Reader body(call.request.body);
  const auto lease = need_lease(call, body);
  if (!lease) return problem(lease.error());
  End end;
  RunReport report;
  read_report(body, report);
  if (const Status read = read_members(body, end); !read) return problem(read.error());
  const Settlement item{.lease = *lease, .end = std::move(end), .report = std::move(report)};
  const auto settled = call.queue.settle(std::span(&item, 1));
  if (!settled.front()) return problem(settled.front().error());
  return json_response(settled_json(settled.front()));
}

Answer progress(const Call& call) {
  json::Reader body(call.request.body);
  const auto lease = need_lease(call, body);
  if (!lease) return problem(lease.error());
  Progress progress;
  body.need("percent", progress.percent).get("message", progress.message);
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  return respond(call.queue.progress(*lease, progress));
}

Answer report(const Call& call) {
  json::Reader body(call.request.body);
  const auto lease = need_lease(call, body);
  if (!lease) return problem(lease.error());
  RunReport report;
  read_report(body, report).get("at_door", report.at_door);
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  const auto answer = call.queue.report(*lease, report);
  if (!answer) return problem(answer.error());
  return answer->stop ? json_response(to_json(*answer)) : respond(Status());
}

// How a run stands with its provider and its budgets, for its agent.
Answer standing(const Call& call) {
  json::Reader body(call.request.body);
  const auto lease = need_lease(call, body);
  if (!lease) return problem(lease.error());
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  const auto standing = call.queue.standing_of(*lease);
  if (!standing) return problem(standing.error());
  return json_response(to_json(*standing));
}

Answer append_log(const Call& call) {
  json::Reader body(call.request.body);
  const auto lease = need_lease(call, body);
  if (!lease) return problem(lease.error());
  std::vector<LogChunk> chunks;
  body.need("chunks", chunks);
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  return respond(call.queue.append_log(*lease, chunks));
}

Answer checkpoint(const Call& call) {
  json::Reader body(call.request.body);
  const auto lease = need_lease(call, body);
  if (!lease) return problem(lease.error());
  JsonText value;
  body.need_any_text("value", value);
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  return respond(call.queue.checkpoint(*lease, value));
}

// Many at once: one answer for each, in their order.
Answer settle_many(const Call& call) {
  if (const Status allowed = call.queue.may_work(); !allowed) return problem(allowed.error());
  std::vector<Settlement> items;
  json::Reader body(call.request.body);
  body.need("items", items);
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  std::string answer = "{\"items\":[";
  for (const Result<Settled>& settled : call.queue.settle(items)) {
    if (answer.back() != '[') answer += ',';
    answer += settled_json(settled);
  }
  return json_response(answer + "]}");
}

constexpr std::array kRunRoutes{
    Route{"POST", "/v1/tasks/{id}/complete", settle<Completion>},
    Route{"POST", "/v1/tasks/{id}/fail", settle<Failure>},
    Route{"POST", "/v1/tasks/{id}/release", settle<Release>},
    Route{"POST", "/v1/tasks/{id}/cancelled", settle<CancelConfirmed>},
    Route{"POST", "/v1/tasks/{id}/suspend", settle<Suspend>},
    Route{"POST", "/v1/tasks/{id}/progress", progress},
    Route{"POST", "/v1/tasks/{id}/usage", report},
    Route{"POST", "/v1/tasks/{id}/standing", standing},
    Route{"POST", "/v1/tasks/{id}/log", append_log},
    Route{"POST", "/v1/tasks/{id}/checkpoint", checkpoint},
    Route{"POST", "/v1/settlements", settle_many},
};

}  // namespace

std::span<const Route> run_routes() {
  return kRunRoutes;
}

}  // namespace drover::server
