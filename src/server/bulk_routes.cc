// /v1/bulk: one thing done to many tasks.
#include <array>

#include "base/text.h"
#include "server/api.h"
#include "wire/bulk.h"

namespace drover::server {
namespace {

Result<BulkId> bulk_id(const Call& call) {
  const auto id = BulkId::parse(call.captures[0]);
  if (id) return *id;
  return fail(ErrorCode::kNotFound, fmt::format("there is no bulk operation {}", quoted_excerpt(call.captures[0])));
}

Answer start(const Call& call) {
  const auto request = read_body<BulkRequest>(call);
  if (!request) return problem(request.error());
  if (request->mode == BulkMode::kDryRun) return respond(call.queue.preview_bulk(request->order));
  const auto started = call.queue.start_bulk(request->order);
  if (started) call.made = started->id.to_string();
  return respond(started, kCreated);
}

Answer list(const Call& call) {
  if (const Status known = call.only({}); !known) return problem(known.error());
  return respond_list("operations", call.queue.bulk_operations());
}

Answer show(const Call& call) {
  const auto id = bulk_id(call);
  return respond(id ? call.queue.bulk_operation(*id) : std::unexpected(id.error()));
}

Answer stop(const Call& call) {
  const auto id = bulk_id(call);
  if (!id) return problem(id.error());
  Verdict verdict;
  json::Reader body(body_of(call));
  body.get("why", verdict.why);
  if (const Status read = body.finish_strictly(); !read) return problem(read.error());
  return respond(call.queue.stop_bulk(*id, verdict));
}

constexpr std::array kBulkRoutes{
    Route{"POST", "/v1/bulk", start},
    Route{"GET", "/v1/bulk", list},
    Route{"GET", "/v1/bulk/{id}", show},
    Route{"POST", "/v1/bulk/{id}/stop", stop},
};

}  // namespace

std::span<const Route> bulk_routes() {
  return kBulkRoutes;
}

}  // namespace drover::server
