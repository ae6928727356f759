// One call of the REST API: what a handler gets, and what it may answer.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json_reader.h"
#include "base/try.h"
#include "core/administration.h"
#include "mcp/queue_tools.h"
#include "net/http.h"
#include "net/url.h"
#include "server/audit_log.h"
#include "server/doorkeeper.h"
#include "server/frontage.h"
#include "server/guarded_queue.h"
#include "server/metrics.h"
#include "server/ticket_booth.h"
#include "server/watch.h"
#include "wire/read.h"
#include "wire/write.h"

namespace drover::server {

inline constexpr int kOk = 200;
inline constexpr int kCreated = 201;
inline constexpr int kNoContent = 204;

// A call that cannot be answered yet. It is made again when what it waits for may have happened, and for the last time
// when its time is over.
struct Wait {
  struct Change {};  // of anything
  struct OfTask {
    TaskId id;
  };
  struct OfTasks {  // of any of them
    std::vector<TaskId> ids;
  };
  struct OfConversation {  // of what is appended to it
    std::string owner;
    std::string key;
  };
  struct Work {
    std::vector<std::string> queues;
  };
  std::variant<Change, OfTask, OfTasks, OfConversation, Work> for_what;
  Millis at_most{0};  // from the first call
};
inline constexpr Millis kWaitMax{30'000};

// Tasks that are handed out. If nobody is there any more to take them they are given back at once: else they would wait
// until their leases run out.
struct Handout {
  HttpResponse response;
  std::vector<Lease> leases;
};

// A body that is read from the store in pieces, as the client takes them.
struct Pieces {
  HttpResponse first;
  // The next piece; empty: that was all. Called on a thread that may wait, one call at a time.
  std::function<Result<std::string>(GuardedQueue&)> next;
};

using Answer = std::variant<HttpResponse, Wait, Watch, Handout, Pieces>;

enum class Try : std::uint8_t { kMayWait, kLast };

struct Call {
  const HttpRequest& request;
  const Target& target;
  std::span<const std::string> captures;  // the parts of the path that the route leaves open
  GuardedQueue& queue;                    // as the caller may use it
  Administration& administration;         // the same
  Metrics& metrics;
  const Frontage& front;
  Doorkeeper& doorkeeper;
  TicketBooth& tickets;
  std::string_view credentials;  // that the caller showed
  std::string_view version;      // of the server
  mcp::Allowed mcp_allowed;      // what agents may do over MCP
  std::string& made;             // what the call made, as the audit log names it
  const AuditLog* audit;         // null: none is kept
  Try attempt = Try::kMayWait;

  // The query's parameters; one that is not among `known` or `several` is an error, and so is one of `known` that comes
  // twice.
  [[nodiscard]] Status only(std::initializer_list<std::string_view> known,
                            std::initializer_list<std::string_view> several = {}) const;
  [[nodiscard]] std::optional<std::string> parameter(std::string_view name) const;
  // kInvalidArgument names the parameter.
  [[nodiscard]] Result<std::int64_t> number(std::string_view name, std::int64_t otherwise, std::int64_t max) const;
  [[nodiscard]] Result<Millis> duration(std::string_view name, Millis otherwise, Millis max) const;
  [[nodiscard]] Result<bool> boolean(std::string_view name, bool otherwise) const;
  // The task that the path names; kNotFound if it is no id.
  [[nodiscard]] Result<TaskId> task_id() const;
};

// From 0 to max; kInvalidArgument names it.
[[nodiscard]] Result<std::int64_t> read_number(std::string_view name, std::string_view text, std::int64_t max);
[[nodiscard]] HttpResponse json_response(std::string body, int status = kOk);
[[nodiscard]] HttpResponse no_content();

// What a verb gave: its JSON, or its error as a problem.
template <class T>
[[nodiscard]] HttpResponse respond(const Result<T>& result, int status = kOk) {
  if (!result) return problem(result.error());
  return json_response(to_json(*result), status);
}
[[nodiscard]] HttpResponse respond(const Status& status);
template <class T>
[[nodiscard]] HttpResponse respond_list(std::string_view name, const Result<std::vector<T>>& result) {
  if (!result) return problem(result.error());
  return json_response(list_json(name, *result));
}

// An empty body is an empty object.
[[nodiscard]] inline std::string_view body_of(const Call& call) {
  return call.request.body.empty() ? std::string_view("{}") : call.request.body;
}

// The body as the type that it must be.
template <class T>
[[nodiscard]] Result<T> read_body(const Call& call) {
  T value{};
  TRY(read_json(body_of(call), value));
  return value;
}

enum class Access : std::uint8_t {
  kToken,   // whom the token does not allow is refused by the queue
  kAnyone,  // no token is asked for, and the queue shows nothing
};

enum class AnsweredBy : std::uint8_t {
  kPool,  // a thread that may wait for the queue
  kFew,   // the same, but few at a time and none while memory is tight: the answer may be large
  kLoop,  // the server's own thread, whatever else it has to do; server.cc answers
};

struct Route {
  std::string_view method;
  std::string_view pattern;  // "/v1/tasks/{id}/wait"
  Answer (*answer)(const Call&);
  Access access = Access::kToken;
  AnsweredBy answered_by = AnsweredBy::kPool;
  // If there is this, calls of several clients at the same moment are answered together, each by itself.
  std::vector<Answer> (*answer_together)(std::span<const Call>) = nullptr;
};

inline constexpr std::string_view kHealthPath = "/healthz";
inline constexpr std::string_view kReadyPath = "/readyz";
inline constexpr std::string_view kMcpPath = "/mcp";

// All of them. src/server/openapi.yaml says the same, and a test compares.
[[nodiscard]] std::span<const Route> routes();

// A file of handlers brings its part.
[[nodiscard]] std::span<const Route> task_routes();
[[nodiscard]] std::span<const Route> run_routes();
[[nodiscard]] std::span<const Route> worker_routes();
[[nodiscard]] std::span<const Route> operate_routes();
[[nodiscard]] std::span<const Route> bulk_routes();
[[nodiscard]] std::span<const Route> conversation_routes();
[[nodiscard]] std::span<const Route> admin_routes();
[[nodiscard]] std::span<const Route> signin_routes();
[[nodiscard]] std::span<const Route> dump_routes();
[[nodiscard]] std::span<const Route> server_routes();
[[nodiscard]] std::span<const Route> mcp_routes();
[[nodiscard]] std::span<const Route> live_routes();

// Where a code or a token is tried: what is wrong counts as a failed attempt.
inline constexpr std::string_view kSigninPattern = "/v1/signins";
inline constexpr std::string_view kSocketPattern = "/v1/ws";
// The answer that turns the connection into a WebSocket, or why it does not.
[[nodiscard]] std::expected<std::string, HttpResponse> socket_head(const HttpRequest& request);

}  // namespace drover::server
