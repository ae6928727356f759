// Sessions.
#include <array>

#include "core/page_limit.h"
#include "core/session_record.h"
#include "server/api.h"

namespace drover::server {
namespace {

constexpr int kSessionsShown = 100;

// ?owner=O&limit=N&cursor=C, by owner and name.
Answer sessions(const Call& call) {
  if (const Status known = call.only({"owner", "limit", "cursor"}); !known) return problem(known.error());
  const auto limit = call.number("limit", kSessionsShown, kPageMax);
  if (!limit) return problem(limit.error());
  if (const Status good = check_page_limit(static_cast<int>(*limit)); !good) return problem(good.error());
  const auto page = call.queue.sessions(
      {.owner = call.parameter("owner"), .limit = static_cast<int>(*limit), .cursor = call.parameter("cursor")});
  if (!page) return problem(page.error());
  std::string body = list_json("sessions", page->sessions);
  body.pop_back();
  const std::optional<std::string>& cursor = page->cursor;
  return json_response(body + ",\"cursor\":" + (cursor ? json::quote(*cursor) : "null") + "}");
}

SessionName name_in(const Call& call) {
  return {.owner = call.captures[0], .name = call.captures[1]};
}

Answer session(const Call& call) {
  return respond(call.queue.session(name_in(call)));
}

// {"why"}
Answer reset(const Call& call) {
  Verdict verdict;
  json::Reader body(body_of(call));
  body.get("why", verdict.why);
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  return respond(call.queue.reset_session(name_in(call), verdict));
}

constexpr std::array kSessionRoutes{
    Route{"GET", "/v1/sessions", sessions},
    Route{"GET", "/v1/sessions/{owner}/{name}", session},
    Route{"POST", "/v1/sessions/{owner}/{name}/reset", reset},
};

}  // namespace

std::span<const Route> session_routes() {
  return kSessionRoutes;
}

}  // namespace drover::server
