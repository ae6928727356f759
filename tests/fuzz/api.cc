// Requests as the server's routes answer them: targets, queries, cursors, headers and bodies, each as its route reads
// it.
#include <algorithm>
#include <memory>
#include <ranges>

#include "base/check.h"
#include "base/json.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "engine/local_administration.h"
#include "fuzz/targets.h"
#include "server/access.h"
#include "server/guarded_administration.h"
#include "server/router.h"
#include "store/sqlite/sqlite_store.h"
#include "support/manual_clock.h"
#include "support/must.h"
#include "unit/server/named_door.h"

namespace drover::fuzz {
namespace {

using test::must;

constexpr int kFirstRefusal = 400;
constexpr int kFirstFault = 500;

// A queue with a task that waits, one that runs, one that has failed and one that is not due. Their ids are the same
// every time.
struct Scene {
  test::ManualClock clock;
  SeededRng rng{1};
  std::unique_ptr<Store> store = must(open_sqlite({.path = {}, .clock = &clock}));
  Engine engine{*store, rng};
  LocalAdministration administration{*store, engine, rng};
  server::Metrics metrics;
  server::Frontage front;
  server::TicketBooth tickets{rng};

  Scene() {
    const std::vector<TaskSpec> group{{.type = "work", .payload = R"({"a":1})"},
                                      {.type = "work", .owner = "anna", .tags = {"t"}},
                                      {.type = "work", .queue = "broken"},
                                      {.type = "work", .queue = "other", .delay = std::chrono::hours(1)}};
    static_cast<void>(must(engine.enqueue(group)));
    must(engine.register_worker({.id = "w", .version = "1", .serves = {{.queue = "work", .type = {}}}}));
    must(engine.append_log(claim_from("work"), std::vector<LogChunk>{{.text = "line"}}));
    const Settlement failed{.lease = claim_from("broken"), .end = Failure{.error_class = ErrorClass::kInvalid}};
    must(engine.settle(std::span(&failed, 1)).front());
  }

  Lease claim_from(const std::string& queue) {
    return must(engine.claim({.worker_id = "w", .serves = {{.queue = queue, .type = {}}}})).front().lease;
  }
};

// "METHOD TARGET", the headers and an empty line in front of the body, as in HTTP but with plain line ends.
HttpRequest read_request(std::string_view input) {
  const auto line = [&] {
    const std::string_view first = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(input.size(), first.size() + 1));
    return first;
  };
  const std::string_view start = line();
  const std::size_t space = std::min(start.find(' '), start.size());
  HttpRequest request{.method = std::string(start.substr(0, space)),
                      .target = std::string(start.substr(std::min(start.size(), space + 1))),
                      .body = {},
                      .headers = {}};
  for (std::string_view header = line(); !header.empty(); header = line()) {
    const std::size_t colon = std::min(header.find(": "), header.size());
    request.headers.emplace_back(server::to_lower(header.substr(0, colon)),
                                 header.substr(std::min(header.size(), colon + 2)));
  }
  request.body = input;
  return request;
}

// Whether what says that it is JSON, or lines of it, is.
void check_body(const HttpResponse& response) {
  if (response.content_type.find("json") == std::string::npos) return;
  if (response.content_type.find("ndjson") == std::string::npos) {
    CHECK_MSG(json::parse(response.body), response.body);
    return;
  }
  for (const auto line : std::views::split(response.body, '\n')) {
    const std::string_view text(line.begin(), line.end());
    CHECK_MSG(text.empty() || json::parse(text), response.body);
  }
}

// Whether something may have changed.
bool check(const HttpRequest& request, const HttpResponse& response) {
  CHECK_MSG(response.status < kFirstFault, response.body);
  check_body(response);
  static_cast<void>(format_response(response));
  return request.method != "GET" && response.status < kFirstRefusal;
}

bool answer(Scene& scene, const HttpRequest& request) {
  const auto target = parse_target(request.target);
  if (!target) return false;
  const auto found = server::find_route(request, *target);
  if (const auto* refused = std::get_if<HttpResponse>(&found)) return check(request, *refused);
  const auto& [route, captures] = std::get<server::Match>(found);
  if (route->answer == nullptr) return false;
  server::NamedDoor door;
  const auto principal = door.principal(server::bearer_token(request));
  if (!principal) return false;
  server::GuardedQueue queue(scene.engine, *principal);
  server::GuardedAdministration administration(scene.administration, *principal);
  std::string made;
  const mcp::Allowed allowed;
  mcp::Told told;
  const server::Answer given = route->answer({.request = request,
                                              .target = *target,
                                              .captures = captures,
                                              .queue = queue,
                                              .administration = administration,
                                              .metrics = scene.metrics,
                                              .front = scene.front,
                                              .doorkeeper = door,
                                              .tickets = scene.tickets,
                                              .credentials = "fuzz",
                                              .version = "1",
                                              .mcp_allowed = allowed,
                                              .made = made,
                                              .told = told,
                                              .audit = nullptr,
                                              .attempt = server::Try::kMayWait});
  if (const auto* response = std::get_if<HttpResponse>(&given)) return check(request, *response);
  if (const auto* handout = std::get_if<server::Handout>(&given)) return check(request, handout->response);
  return false;
}

}  // namespace

void feed_api(std::string_view input) {
  static std::unique_ptr<Scene> scene;
  if (scene == nullptr) scene = std::make_unique<Scene>();
  if (answer(*scene, read_request(input))) scene.reset();
}

}  // namespace drover::fuzz
