// What happens: events page by page, as a stream, and as a number to wait for.
#include <array>

#include "base/try.h"
#include "core/page_limit.h"
#include "core/spec_check.h"
#include "server/access.h"
#include "server/api.h"

namespace drover::server {
namespace {

constexpr int kEventLimit = 100;
constexpr int kSwitchingProtocols = 101;
constexpr int kBadRequest = 400;
constexpr int kUpgradeRequired = 426;

// The filter has the options of `drover events`.
Result<WatchFilter> watch_filter(const Call& call) {
  WatchFilter filter;
  filter.type = call.parameter("type");
  filter.queue = call.parameter("queue");
  filter.owner = call.parameter("owner");
  if (const auto task = call.parameter("task")) {
    filter.task = TaskId::parse(*task);
    if (!filter.task) return fail(ErrorCode::kInvalidArgument, "task: expected the id of a task");
  }
  for (const auto& [name, value] : call.target.query) {
    if (name == "name") TRY(filter.add_names(value));
  }
  return filter;
}

Result<EventQuery> read_event_query(const Call& call) {
  TRY(call.only({"after", "before", "order", "limit", "type", "queue", "owner", "task"}, {"name"}));
  EventQuery query;
  query.filter = TRY(watch_filter(call));
  const std::string order = call.parameter("order").value_or("asc");
  if (order != "asc" && order != "desc") return fail(ErrorCode::kInvalidArgument, "order: expected asc or desc");
  query.order = order == "desc" ? EventQuery::Order::kNewestFirst : EventQuery::Order::kOldestFirst;
  const bool goes_back = query.order == EventQuery::Order::kNewestFirst;
  if (call.parameter(goes_back ? "after" : "before")) {
    return fail(ErrorCode::kInvalidArgument,
                goes_back ? "after: with order=desc, use before" : "before: goes with order=desc only");
  }
  query.from = TRY(call.number(goes_back ? "before" : "after", 0, INT64_MAX));
  query.limit = static_cast<int>(TRY(call.number("limit", kEventLimit, kPageMax)));
  TRY(check_page_limit(query.limit));
  return query;
}

Answer events_page(const Call& call) {
  const auto query = read_event_query(call);
  if (!query) return problem(query.error());
  const auto page = call.queue.events_page(*query);
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
  if (const Status known = call.only({"seen", "timeout"}, {"queue"}); !known) return problem(known.error());
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

Result<Watch> read_watch(const Call& call) {
  TRY(call.only({"type", "queue", "owner", "task", "tally", "after", "snapshot", "names"}, {"name"}));
  Watch watch{.principal = call.queue.principal()};
  watch.filter = TRY(watch_filter(call));
  const auto after = TRY(call.number("after", 0, INT64_MAX));
  if (call.parameter("after")) watch.after = after;
  watch.wants_snapshot = TRY(call.boolean("snapshot", true));
  watch.filter.tally = TRY(call.boolean("tally", false));
  const std::string names = call.parameter("names").value_or("drover");
  if (names != "drover" && names != "orchestrator") {
    return fail(ErrorCode::kInvalidArgument, "names: expected drover or orchestrator");
  }
  watch.names = names == "drover" ? EventNames::kDrover : EventNames::kOrchestrator;
  // Whether the caller may watch at all.
  TRY(call.queue.last_event_seq());
  return watch;
}

Answer event_stream(const Call& call) {
  auto watch = read_watch(call);
  if (!watch) return problem(watch.error());
  // A browser that comes again says where it was.
  if (const std::string_view last = call.request.header("last-event-id"); !last.empty()) {
    const auto after = read_number("Last-Event-ID", last, INT64_MAX);
    if (!after) return problem(after.error());
    watch->after = *after;
  }
  watch->transport = LiveTransport::kEventStream;
  watch->head = format_stream_head(kOk, {{"content-type", "text/event-stream"},
                                         {"cache-control", "no-store"},
                                         {"x-accel-buffering", "no"},
                                         {"connection", "close"}}) +
                "retry: 2000\n\n";
  return *std::move(watch);
}

Answer events(const Call& call) {
  const bool as_stream = call.request.header("accept").find("text/event-stream") != std::string_view::npos;
  return as_stream ? event_stream(call) : events_page(call);
}

Answer watch_socket(const Call& call) {
  auto watch = read_watch(call);
  if (!watch) return problem(watch.error());
  auto head = socket_head(call.request);
  if (!head) return std::move(head.error());
  watch->head = *std::move(head);
  return *std::move(watch);
}

constexpr std::array kLiveRoutes{
    Route{"GET", "/v1/events", events},
    Route{"GET", "/v1/events/last", last_event},
    Route{"GET", "/v1/changes", changes},
    Route{"GET", kSocketPattern, watch_socket},
};

}  // namespace

std::expected<std::string, HttpResponse> socket_head(const HttpRequest& request) {
  const auto refuse = [](int status, std::string message) {
    HttpResponse refused = problem(status, Error{ErrorCode::kInvalidArgument, std::move(message), {}});
    if (status == kUpgradeRequired) {
      refused.headers.emplace_back("upgrade", "websocket");
      refused.headers.emplace_back("sec-websocket-version", "13");
    }
    return std::unexpected(std::move(refused));
  };
  if (to_lower(request.header("upgrade")) != "websocket" ||
      to_lower(request.header("connection")).find("upgrade") == std::string::npos) {
    return refuse(kUpgradeRequired, "this is for WebSocket clients; GET /v1/events streams over HTTP");
  }
  if (request.header("sec-websocket-version") != "13") return refuse(kUpgradeRequired, "expected WebSocket version 13");
  const auto accept = websocket_accept(request.header("sec-websocket-key"));
  if (!accept) return refuse(kBadRequest, "Sec-WebSocket-Key: expected 16 bytes in base64");
  return format_stream_head(kSwitchingProtocols,
                            {{"upgrade", "websocket"}, {"connection", "Upgrade"}, {"sec-websocket-accept", *accept}});
}

std::span<const Route> live_routes() {
  return kLiveRoutes;
}

}  // namespace drover::server
