// Browsers: codes, sign-ins, tickets for their WebSockets, and who they are.
#include <array>

#include "server/api.h"
#include "server/frontage.h"
#include "server/rights.h"
#include "server/ticket_booth.h"

namespace drover::server {
namespace {

// What has a secret in it stays nowhere.
HttpResponse secret_response(std::string body) {
  HttpResponse response = json_response(std::move(body), kCreated);
  response.headers.emplace_back("cache-control", "no-store");
  return response;
}

Answer create_signin_code(const Call& call) {
  if (const Status known = call.only({}); !known) return problem(known.error());
  auto code = call.administration.create_signin_code(call.queue.principal().token_id);
  if (!code) return problem(code.error());
  const std::string url = url_for(call.front, call.request);
  if (!url.empty()) code->url = signin_link(url, code->code);
  return secret_response(to_json(*code));
}

Result<NewSignin> read_signin(const Call& call) {
  NewSignin order;
  json::Reader body(body_of(call));
  body.get("code", order.code).get("token", order.token);
  TRY(body.finish_strictly());
  if (order.code.has_value() == order.token.has_value()) {
    return fail(ErrorCode::kInvalidArgument, "expected a code or a token, and not both");
  }
  order.from = call.request.peer;
  order.user_agent = call.request.header("user-agent");
  return order;
}

std::string created_json(const CreatedSignin& created) {
  json::Writer out;
  out.begin_object().key("id").string(created.info.record.id).key("secret").string(created.secret);
  out.key("expires_at").string(format_time(created.info.expires_at)).end_object();
  return std::move(out).take();
}

Answer sign_in(const Call& call) {
  const auto order = read_signin(call);
  if (!order) return problem(order.error());
  const auto created = call.administration.sign_in(*order);
  if (!created) {
    HttpResponse refused = problem(created.error());
    if (created.error().code == ErrorCode::kUnauthorised) refused.headers.emplace_back("www-authenticate", "Bearer");
    return refused;
  }
  call.made = fmt::format("{} of token {}", created->info.record.id, created->info.record.token_id);
  HttpResponse response = secret_response(created_json(*created));
  response.headers.emplace_back("set-cookie", set_signin_cookie(call.front, call.request, created->cookie));
  return response;
}

std::string signin_json(const SigninInfo& signin, std::string_view current_id) {
  json::Writer out;
  out.begin_object();
  put_members(out, signin.record);
  out.key("role").string(name_of(signin.role)).key("owner");
  signin.owner ? out.string(*signin.owner) : out.null();
  out.key("expires_at").string(format_time(signin.expires_at));
  out.key("is_current").boolean(signin.record.id == current_id).end_object();
  return std::move(out).take();
}

Answer signins(const Call& call) {
  if (const Status known = call.only({}); !known) return problem(known.error());
  const auto all = call.administration.signins();
  if (!all) return problem(all.error());
  std::string body;
  for (const SigninInfo& one : *all) {
    body += (body.empty() ? "" : ",") + signin_json(one, call.queue.principal().signin_id);
  }
  return json_response(fmt::format(R"({{"signins":[{}]}})", body));
}

Answer sign_out(const Call& call) {
  if (const Status known = call.only({}); !known) return problem(known.error());
  const Status ended = call.administration.end_signin(call.captures[0], std::nullopt);
  if (!ended) return problem(ended.error());
  call.doorkeeper.look_again();
  HttpResponse response = no_content();
  if (call.captures[0] == call.queue.principal().signin_id) {
    response.headers.emplace_back("set-cookie", set_signin_cookie(call.front, call.request, ""));
  }
  return response;
}

void put(json::Writer& out, std::string_view key, const std::optional<std::string>& text) {
  out.key(key);
  text ? out.string(*text) : out.null();
}

Answer me(const Call& call) {
  if (const Status known = call.only({}); !known) return problem(known.error());
  const auto now = call.administration.now();
  if (!now) return problem(now.error());
  const Principal& caller = call.queue.principal();
  json::Writer out;
  out.begin_object().key("token_id").string(caller.token_id);
  put(out, "signin_id", caller.signin_id.empty() ? std::nullopt : std::optional(caller.signin_id));
  out.key("role").string(name_of(caller.role));
  put(out, "owner", caller.owner);
  out.key("queues").begin_array();
  for (const std::string& queue : caller.queues) out.string(queue);
  out.end_array().key("rights").begin_array();
  for (const Right right : kAllRights) {
    if (need(caller, right)) out.string(name_of(right));
  }
  out.end_array();
  put(out, "expires_at", caller.expires_at ? std::optional(format_time(*caller.expires_at)) : std::nullopt);
  out.key("now").string(format_time(*now)).key("server").begin_object();
  put(out, "name", call.front.name.name);
  put(out, "colour", call.front.name.colour);
  out.key("version").string(call.version).end_object().end_object();
  return json_response(std::move(out).take());
}

Answer create_ws_ticket(const Call& call) {
  if (const Status known = call.only({}); !known) return problem(known.error());
  const auto ticket = call.tickets.issue(call.credentials, system_clock().mono());
  if (!ticket) return problem(ticket.error());
  return secret_response(
      fmt::format(R"({{"ticket":{},"expires_in_ms":{}}})", json::quote(*ticket), kTicketKept.count()));
}

constexpr std::array kSigninRoutes{
    Route{"POST", "/v1/signin-codes", create_signin_code},
    Route{"POST", kSigninPattern, sign_in, Access::kAnyone},
    Route{"GET", kSigninPattern, signins},
    Route{"DELETE", "/v1/signins/{id}", sign_out},
    Route{"GET", "/v1/me", me},
    Route{"POST", "/v1/ws-tickets", create_ws_ticket},
};

}  // namespace

std::span<const Route> signin_routes() {
  return kSigninRoutes;
}

}  // namespace drover::server
