// /v1/workers: registering, claiming, beating.
#include <algorithm>
#include <array>

#include "base/try.h"
#include "server/api.h"

namespace drover::server {
namespace {

Answer register_worker(const Call& call) {
  const auto worker = read_body<WorkerInfo>(call);
  return respond(worker ? call.queue.register_worker(*worker) : Status(std::unexpected(worker.error())));
}

Answer list_workers(const Call& call) {
  return respond_list("workers", call.queue.workers());
}

Answer unregister(const Call& call) {
  return respond(call.queue.unregister_worker(call.captures[0], call.parameter("reason").value_or("")));
}

Result<Millis> wait_of(const Call& call) {
  Millis wait{0};
  json::Reader body(call.request.body);
  body.get("wait_ms", wait);
  TRY(body.finish());
  if (wait > kWaitMax) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("wait_ms: at most {}", kWaitMax.count()));
  }
  return wait;
}

Answer claim(const Call& call) {
  auto request = read_body<ClaimRequest>(call);
  if (!request) return problem(request.error());
  const auto wait = wait_of(call);
  if (!wait) return problem(wait.error());
  request->worker_id = call.captures[0];
  const auto claimed = call.queue.claim(*request);
  if (claimed && claimed->empty() && *wait > Millis{0} && call.attempt == Try::kMayWait) {
    Wait::Work work;
    for (const Serve& serve : request->serves) work.queues.push_back(serve.queue);
    return Wait{.for_what = std::move(work), .at_most = *wait};
  }
  if (!claimed) return problem(claimed.error());
  Handout handout{.response = json_response(list_json("tasks", *claimed)), .leases = {}};
  for (const ClaimedTask& task : *claimed) handout.leases.push_back(task.lease);
  return handout;
}

Answer heartbeat(const Call& call) {
  std::vector<Lease> leases;
  Millis lease{30'000};
  json::Reader body(call.request.body);
  body.need("leases", leases).get("lease_ms", lease);
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  return respond(call.queue.renew(call.captures[0], leases, lease));
}

Answer drain(const Call& call) {
  DrainOrder order{.worker_id = call.captures[0], .why = {}, .by = {}};
  json::Reader body(body_of(call));
  body.get("why", order.why);
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  return respond(call.queue.drain_worker(order));
}

Answer backlog(const Call& call) {
  std::vector<Serve> serves;
  json::Reader body(call.request.body);
  body.need("serves", serves);
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  return respond(call.queue.backlog(serves));
}

Answer requeue_stalled(const Call& call) {
  Millis max_age{0};
  json::Reader body(call.request.body);
  body.need("max_age_ms", max_age);
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  const auto count = call.queue.requeue_stalled(max_age);
  if (!count) return problem(count.error());
  return json_response(fmt::format(R"({{"requeued":{}}})", *count));
}

constexpr std::array kWorkerRoutes{
    Route{"POST", "/v1/workers", register_worker},
    Route{"GET", "/v1/workers", list_workers},
    Route{"DELETE", "/v1/workers/{id}", unregister},
    Route{"POST", "/v1/workers/{id}/claim", claim},
    Route{"POST", "/v1/workers/{id}/heartbeat", heartbeat},
    Route{"POST", "/v1/workers/{id}/drain", drain},
    Route{"POST", "/v1/backlog", backlog},
    Route{"POST", "/v1/stalled", requeue_stalled},
};

}  // namespace

std::span<const Route> worker_routes() {
  return kWorkerRoutes;
}

}  // namespace drover::server
