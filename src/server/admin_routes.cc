// Tokens, and the store as a whole.
#include <fmt/ranges.h>

#include <array>

#include "core/page_limit.h"
#include "server/api.h"

namespace drover::server {
namespace {

constexpr int kAuditLimit = 100;

// {"role", "owner", "queues", "note", "expires_in_ms", "by"}
Answer create_token(const Call& call) {
  NewToken order;
  json::Reader body(body_of(call));
  body.need("role", order.role).get("owner", order.owner).get("queues", order.queues).get("note", order.note);
  body.get("expires_in_ms", order.expires_in).get("by", order.by);
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  return respond(call.administration.create_token(order), kCreated);
}

Answer tokens(const Call& call) {
  return respond_list("tokens", call.administration.tokens());
}

Answer revoke_token(const Call& call) {
  if (const Status known = call.only({"by"}); !known) return problem(known.error());
  const auto revoked = call.administration.revoke_token(call.captures[0], call.parameter("by").value_or(""));
  if (revoked) call.doorkeeper.look_again();
  return respond(revoked);
}

Answer store(const Call& call) {
  return respond(call.administration.store_state());
}

Answer accept_regression(const Call& call) {
  return respond(call.administration.accept_regression());
}

Answer server(const Call& call) {
  const auto now = call.administration.now();
  if (!now) return problem(now.error());
  const Principal& caller = call.queue.principal();
  return json_response(to_json(Introduction{.version = std::string(call.version),
                                            .now = *now,
                                            .token_id = caller.token_id,
                                            .role = caller.role,
                                            .owner = caller.owner,
                                            .queues = caller.queues}));
}

Answer fleet(const Call& call) {
  return respond(call.administration.look_at_fleet());
}

Answer audit(const Call& call) {
  if (const Status allowed = call.queue.may_administer(); !allowed) return problem(allowed.error());
  if (const Status known = call.only({"before", "limit"}); !known) return problem(known.error());
  const auto before = call.number("before", 0, INT64_MAX);
  const auto limit = call.number("limit", kAuditLimit, kPageMax);
  if (!before) return problem(before.error());
  if (!limit) return problem(limit.error());
  if (const Status good = check_page_limit(static_cast<int>(*limit)); !good) return problem(good.error());
  if (call.audit == nullptr) return json_response(R"({"enabled":false,"records":[],"next":null})");
  const auto page =
      call.audit->page(call.parameter("before") ? std::optional(*before) : std::nullopt, static_cast<int>(*limit));
  if (!page) return problem(page.error());
  const std::optional<std::int64_t>& next = page->next;
  return json_response(fmt::format(R"({{"enabled":true,"records":[{}],"next":{}}})", fmt::join(page->records, ","),
                                   next ? std::to_string(*next) : "null"));
}

constexpr std::array kAdminRoutes{
    Route{"GET", "/v1/audit", audit},   Route{"POST", "/v1/tokens", create_token},
    Route{"GET", "/v1/tokens", tokens}, Route{"DELETE", "/v1/tokens/{id}", revoke_token},
    Route{"GET", "/v1/store", store},   Route{"POST", "/v1/store/accept-regression", accept_regression},
    Route{"GET", "/v1/fleet", fleet},   Route{"GET", "/v1/server", server},
};

}  // namespace

std::span<const Route> admin_routes() {
  return kAdminRoutes;
}

}  // namespace drover::server
