#include "server/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <list>
#include <new>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/rng.h"
#include "base/try.h"
#include "net/byte_budget.h"
#include "net/call_pool.h"
#include "net/event_loop.h"
#include "net/http_server.h"
#include "net/wake.h"
#include "server/access.h"
#include "server/audience.h"
#include "server/dashboard.h"
#include "server/follower.h"
#include "server/frontage.h"
#include "server/guarded_administration.h"
#include "server/limits.h"
#include "server/readiness.h"
#include "server/rights.h"
#include "server/router.h"
#include "server/ticket_booth.h"
#include "server/waiting_room.h"
#include "wire/introduction.h"

namespace drover::server {
namespace {

constexpr int kUnauthorised = 401;
constexpr int kTooMany = 429;
constexpr std::size_t kCallsWaitingMax = 2'000;
constexpr Millis kTickMax{250};
constexpr Millis kTurnMax{10'000};  // a thread that has not come round for so long hangs
constexpr int kUnavailable = 503;
// Small calls that can be answered together are: so many at a time, while one lot is prepared and another written.
constexpr std::size_t kTogetherMax = 256;
constexpr std::size_t kTogetherBytes = std::size_t{64} << 10U;
constexpr int kTogetherUnderWay = 2;
// What is read for those who watch, at a time. Nobody who asks for something waits behind it.
constexpr std::size_t kAudienceThreads = 2;
// Calls that may hold much memory while they are answered: at a time, and which of those that bring a body.
constexpr std::size_t kFewThreads = 2;
constexpr std::size_t kLargeBodyBytes = std::size_t{1} << 20U;
// How long they wait while memory is tight, and after how long somebody has to make room for them.
constexpr Millis kPostponedMax{10'000};
constexpr Millis kPostponedLong{100};
constexpr Millis kPostponedAgain{20};
constexpr Millis kMemoryAgain{10};
constexpr Millis kBetweenComplaints{10'000};
// Smaller answers are not counted on their way from the pool.
constexpr std::size_t kCountedBytes = std::size_t{16} << 10U;
// Messages that wait to be sent, beyond which a client that waits for an answer is told no more.
constexpr std::size_t kUntoldBytesMax = std::size_t{64} << 10U;
// For what is being answered when the server ends.
constexpr Millis kGoodbyeMax{5'000};

using Client = std::weak_ptr<HttpConnection>;

// A request on its way: it may be answered at once, or wait and be asked again.
struct Request {
  HttpRequest http;
  Target target;
  Match match;
  Client client;
  MonoTime began{};
  std::string credentials = {};     // see Doorkeeper
  Audience::WatcherRef guest = {};  // whose credentials came after the upgrade
  std::optional<Principal> principal = {};
  std::string made = {};   // see Call
  mcp::Told told = {};     // the same
  bool is_stream = false;  // its answer is a stream of messages, and has begun
};

// What cannot be done at once because memory is tight.
struct Postponed {
  std::function<void()> go;
  std::function<void()> give_up;
  MonoTime since{};
};

bool is_large(const Request& request) {
  return request.match.route->answered_by == AnsweredBy::kFew || request.http.body.size() > kLargeBodyBytes;
}

std::size_t bytes_of(const Answer& answer) {
  if (const auto* response = std::get_if<HttpResponse>(&answer)) return response->body.size();
  if (const auto* handout = std::get_if<Handout>(&answer)) return handout->response.body.size();
  if (const auto* pieces = std::get_if<Pieces>(&answer)) return pieces->first.body.size();
  return 0;
}

// What workers say of their runs, many times a minute, is in the event log as far as it matters. The pieces of a dump
// are many, too: an import is known by its beginning and its end.
bool is_chatter(const Route& route) {
  constexpr std::array<std::string_view, 9> kChatter{"/v1/workers/{id}/claim",    "/v1/workers/{id}/heartbeat",
                                                     "/v1/tasks/{id}/progress",   "/v1/tasks/{id}/log",
                                                     "/v1/tasks/{id}/checkpoint", "/v1/backlog",
                                                     "/v1/tasks/{id}/usage",      "/v1/dump/tasks",
                                                     "/v1/dump/imports/{id}"};
  return std::ranges::find(kChatter, route.pattern) != kChatter.end();
}

bool is_signing_in(const Route& route) {
  return route.pattern == kSigninPattern && route.access == Access::kAnyone;
}

// Changes, and what was refused to a caller. Over MCP only what has made something is a change.
bool is_audited(const Route* route, int status, std::string_view made) {
  constexpr std::array kRefusals{401, 403, 421, 429};
  if (std::ranges::find(kRefusals, status) != kRefusals.end()) return true;
  if (route != nullptr && route->pattern == kMcpPath) return !made.empty();
  return route != nullptr && route->method != "GET" && !is_chatter(*route);
}

class HttpApi final : public Server {
 public:
  HttpApi(TaskQueue& queue, Administration& administration, Doorkeeper& doorkeeper, const ServerOptions& options)
      : queue_(queue),
        administration_(administration),
        doorkeeper_(doorkeeper),
        version_(options.version),
        front_{.name = options.name, .public_url = options.public_url, .has_tls = options.tls.has_value()},
        dashboard_(options.dashboard, options.public_url ? options.public_url->path : ""),
        mcp_allowed_(options.mcp_allowed),
        budget_(options.held_bytes_max),
        http_(loop_,
              {.connections_max = options.connections_max, .strangers_per_peer_max = options.strangers_per_peer_max},
              budget_,
              [this](HttpRequest request, const std::shared_ptr<HttpConnection>& client) {
                take(std::move(request), client);
              }),
        tls_(options.tls),
        limiter_(options.limits),
        audience_(queue, doorkeeper, budget_, options.tokens_again,
                  [this](Audience::Work work, std::function<void()> otherwise) {
                    return submit(audience_pool_, std::move(work), std::move(otherwise));
                  }),
        audience_pool_(kAudienceThreads, options.connections_max),
        few_(kFewThreads, kCallsWaitingMax),
        pool_(options.threads_max, kCallsWaitingMax) {
    rules_.hosts = {"localhost", "127.0.0.1", "[::1]", "drover"};
    rules_.hosts.insert(rules_.hosts.end(), options.hosts.begin(), options.hosts.end());
    if (const auto& url = options.public_url) rules_.hosts.push_back(host_without_port(url->host));
  }

  ~HttpApi() override {
    ending_ = true;
    loop_.post([] {});
    if (thread_.joinable()) thread_.join();
  }

  void occupy(const ServerOptions& options, Premises premises) {
    if (premises.certificate) http_.use_certificate(*std::move(premises.certificate));
    audit_ = std::move(premises.audit);
    for (std::size_t i = 0; i < premises.listening.size(); ++i) {
      Listening& listening = premises.listening[i];
      const bool is_unix = listening.host.empty();
      const auto transport = tls_ && !is_unix ? HttpServer::Transport::kTls : HttpServer::Transport::kPlain;
      if (is_unix) {
        addresses_.push_back(options.listen[i]);
      } else {
        addresses_.push_back(fmt::format("{}://{}:{}", tls_ ? "https" : "http", listening.host, listening.port));
        rules_.hosts.push_back(host_without_port(listening.host + ":0"));
        if (front_.address.empty()) front_.address = addresses_.back();
      }
      http_.listen_on(std::move(listening.socket), transport);
    }
  }

  Status renew_certificate() override {
    if (!tls_) return {};
    auto loaded = TRY(TlsContext::load(tls_->certificate, tls_->key));
    loop_.post([this, certificate = std::make_shared<TlsContext>(std::move(loaded))] {
      http_.use_certificate(std::move(*certificate));
    });
    return {};
  }

  void begin() {
    if (const auto last = queue_.last_event_seq()) metrics_.begin_after(*last);
    thread_ = std::jthread([this] { run(); });
  }

  const std::vector<std::string>& addresses() const override { return addresses_; }
  bool is_alive() const override { return system_clock().mono() - turned_at_.load() < kTurnMax; }

 private:
  void run() {
    block_signals_in_this_thread();
    while (!ending_) survive([this] { turn(); });
    readiness_.stop();
    http_.stop_listening();
    room_.empty();
    audience_.dismiss_all();
    const MonoTime give_up_at = system_clock().mono() + kGoodbyeMax;
    while ((in_flight_ > 0 || http_.is_answering()) && system_clock().mono() < give_up_at) turn();
  }

  void turn() {
    const MonoTime now = system_clock().mono();
    turned_at_ = now;
    metrics_.set_load({.connections = http_.connections(),
                       .waiting_calls = room_.size(),
                       .running_calls = static_cast<std::size_t>(in_flight_),
                       .watchers = audience_.size(),
                       .held_bytes = budget_.held()});
    if (audit_ != nullptr) {
      metrics_.set_audit({.written = audit_->written(), .failures = audit_->failures(), .dropped = audit_->dropped()});
    }
    const MonoTime next =
        std::min({http_.tick(now), room_.tick(now), audience_.tick(now), readiness_.tick(now), take_up_postponed(now)});
    loop_.run_once(std::clamp(next - now, Millis{0}, kTickMax));
    send_gathered();
    if (now >= complain_at_ && lacked_memory_.exchange(false)) {
      complain_at_ = now + kBetweenComplaints;
      log_warn("server", "out of memory: a request was refused");
    }
  }

  void take(HttpRequest request, const std::shared_ptr<HttpConnection>& client) {
    const MonoTime began = system_clock().mono();
    if (const auto& url = front_.public_url) request.target = std::string(without_path(*url, request.target));
    const auto refuse = [&](const Route* at, HttpResponse response) {
      audit(at, request, {}, {}, nullptr, response.status);
      reply(client, at, began, std::move(response));
    };
    if (auto refused = refuse_stranger(rules_, request)) return refuse(nullptr, *std::move(refused));
    auto target = parse_target(request.target);
    if (!target) return refuse(nullptr, problem(target.error()));
    std::string credentials = credentials_of(request);
    if (auto page = dashboard_.answer(request, *target)) {
      if (const auto wait = limiter_.refuse(request.peer, credentials, began)) return refuse(nullptr, too_many(*wait));
      return reply(client, nullptr, began, *std::move(page));
    }
    auto found = find_route(request, *target);
    if (auto* refused = std::get_if<HttpResponse>(&found)) return refuse(nullptr, std::move(*refused));
    const Route& route = *std::get<Match>(found).route;
    if (route.answered_by == AnsweredBy::kLoop) return answer_here(route, client, began);
    if (const auto wait = limiter_.refuse(request.peer, tried_in(route, credentials), began)) {
      return refuse(&route, too_many(*wait));
    }
    if (is_guest(request, std::get<Match>(found))) {
      return greet(std::move(request), *std::move(target), std::get<Match>(std::move(found)), client);
    }
    auto taken = std::make_shared<Request>(Request{.http = std::move(request),
                                                   .target = *std::move(target),
                                                   .match = std::get<Match>(std::move(found)),
                                                   .client = client,
                                                   .began = began,
                                                   .credentials = std::move(credentials)});
    call(std::move(taken), Try::kMayWait);
  }

  // What counts as a failed attempt if it is refused. A code or token in the body is one that nobody has seen before.
  static std::string_view tried_in(const Route& route, std::string_view credentials) {
    return is_signing_in(route) ? kSigninPattern : credentials;
  }

  Result<std::vector<Alert>> look_at_store() {
    const auto state = TRY(administration_.store_state());
    if (const auto& loss = state.loss) return fail(ErrorCode::kStoreRegressed, to_string(*loss));
    if (const Status written = administration_.try_write(); !written) {
      return fail(written.error().code, written.error().message, std::string(Readiness::kWriteOperation));
    }
    return queue_.alerts();
  }

  // For those who watch over the server.
  void answer_here(const Route& route, const std::shared_ptr<HttpConnection>& client, MonoTime began) {
    if (route.pattern == kHealthPath) return reply(client, &route, began, json_response(R"({"status":"ok"})"));
    readiness_.ask(began, [this, client, &route, began](HttpResponse response) {
      reply(client, &route, began, std::move(response));
    });
  }

  // Every answer goes out here. `route` is null for a request that has none.
  void reply(const std::shared_ptr<HttpConnection>& client, const Route* route, MonoTime began, HttpResponse response) {
    metrics_.count_request(route, response.status, system_clock().mono() - began);
    client->respond(std::move(response));
  }

  void audit(const Route* route, const HttpRequest& request, std::span<const std::string> captures,
             std::string_view made, const Principal* principal, int status) {
    if (audit_ == nullptr || !is_audited(route, status, made)) return;
    AuditRecord record{
        .at = system_clock().wall(),
        .method = request.method,
        .route = std::string(route != nullptr ? route->pattern : ""),
        .subject = fmt::format("{}{}{}", fmt::join(captures, " "), captures.empty() || made.empty() ? "" : " ", made),
        .from = request.peer,
        .status = status};
    if (principal != nullptr) {
      record.token_id = principal->token_id;
      record.role = name_of(principal->role);
      record.owner = principal->owner;
    }
    audit_->add(std::move(record));
  }

  // What a caller's answer says of them.
  void note(const Request& request, HttpConnection& client, int status) {
    const Principal* const principal = request.principal ? &*request.principal : nullptr;
    if (principal != nullptr) client.set_known();
    audit(request.match.route, request.http, request.match.captures, request.made, principal, status);
    const std::string_view tried = tried_in(*request.match.route, request.credentials);
    if (tried.empty()) return;
    const MonoTime now = system_clock().mono();
    if (principal != nullptr) return limiter_.note_success(tried, now);
    if (status == kUnauthorised) limiter_.note_failure(request.http.peer, now);
  }

  // Has it answered by the pool; a call that has to wait goes into the waiting room.
  void call(std::shared_ptr<Request> request, Try attempt) {
    const auto client = request->client.lock();
    if (client == nullptr || client->is_closed()) return;  // nobody waits for the answer any more
    const bool goes_together =
        request->match.route->answer_together != nullptr && request->http.body.size() <= kTogetherBytes;
    if (goes_together && gathered_.size() < kCallsWaitingMax) return gathered_.push_back(std::move(request));
    if (!is_large(*request)) return make(request, attempt, pool_);
    when_there_is_room([this, request, attempt] { make(request, attempt, few_); },
                       [this, request] { give_up(*request); });
  }

  void make(const std::shared_ptr<Request>& request, Try attempt, CallPool& pool) {
    const auto work = [this, request, attempt]() -> std::function<void()> {
      const Follower* const follower = following_.load();
      const std::uint64_t pulse = follower != nullptr ? follower->number() : 0;
      Answer answer = std::move(answers_of(std::span(&request, 1), attempt).front());
      const auto charge = count(bytes_of(answer));
      return [this, request, pulse, charge, answer = std::move(answer)]() mutable {
        deliver(request, std::move(answer), pulse);
      };
    };
    if (!submit(pool, work, [this, request] { give_up(*request); })) give_up(*request);
  }

  void give_up(const Request& request) {
    if (const auto client = request.client.lock()) respond(request, client, overloaded());
  }

  // Until the connection counts them.
  std::shared_ptr<const ByteBudget::Charge> count(std::size_t bytes) {
    return bytes > kCountedBytes ? std::make_shared<const ByteBudget::Charge>(budget_, bytes) : nullptr;
  }

  void when_there_is_room(std::function<void()> go, std::function<void()> give_up) {
    if (postponed_.empty() && !budget_.is_tight()) return go();
    if (postponed_.size() >= kCallsWaitingMax) return give_up();
    postponed_.push_back({.go = std::move(go), .give_up = std::move(give_up), .since = system_clock().mono()});
  }

  // Somebody who does not read its answer has to make room for those who wait for theirs.
  MonoTime take_up_postponed(MonoTime now) {
    while (!postponed_.empty()) {
      const Postponed& first = postponed_.front();
      if (budget_.is_tight() && now - first.since > kPostponedLong) budget_.make_room();
      const bool is_too_late = now - first.since > kPostponedMax;
      if (budget_.is_tight() && !is_too_late) return now + kPostponedAgain;
      const auto then = is_too_late ? first.give_up : first.go;
      postponed_.pop_front();
      then();
    }
    return MonoTime{Millis::max()};
  }

  // What came in during one turn goes to the store together. While some is on its way the next gathers, until it is
  // half as much: each costs a write to the disk, and many small ones would keep the large one waiting.
  void send_gathered() {
    while (!gathered_.empty() && together_under_way_ < kTogetherUnderWay &&
           gathered_.size() >= requests_under_way_ / 2) {
      const std::size_t count = std::min(gathered_.size(), kTogetherMax);
      std::vector<std::shared_ptr<Request>> requests(gathered_.begin(), gathered_.begin() + count);
      const auto ended = [this, count] {
        --together_under_way_;
        requests_under_way_ -= count;
      };
      const auto work = [this, requests, ended]() -> std::function<void()> {
        auto answers = answers_of(requests, Try::kMayWait);
        return [this, requests, ended, answers = std::move(answers)]() mutable {
          ended();
          for (std::size_t i = 0; i < requests.size(); ++i) deliver(requests[i], std::move(answers[i]), 0);
        };
      };
      const bool taken = submit(pool_, work, [this, requests, ended] {
        ended();
        for (const auto& request : requests) give_up(*request);
      });
      if (!taken) return;
      ++together_under_way_;
      requests_under_way_ += count;
      gathered_.erase(gathered_.begin(), gathered_.begin() + count);
    }
  }

  // Has a pool do it; what it returns is done on this thread, or `otherwise` if there was no memory for it.
  bool submit(CallPool& pool, Audience::Work work, std::function<void()> otherwise) {
    const auto then = std::make_shared<std::function<void()>>(std::move(otherwise));
    const bool taken = pool.submit([this, then, work = std::move(work)] {
      try {
        *then = work();
      } catch (const std::bad_alloc&) {
        lacked_memory_ = true;
      }
      tell_loop([this, then] {
        --in_flight_;
        survive(*then);
      });
    });
    if (taken) ++in_flight_;
    return taken;
  }

  // From a pool's thread, which has nothing better to do than to wait until there is memory for it.
  template <class Work>
  void tell_loop(const Work& work) {
    for (;;) {
      try {
        return loop_.post(work);
      } catch (const std::bad_alloc&) {
        std::this_thread::sleep_for(kMemoryAgain);
      }
    }
  }

  // On this thread. Whatever somebody asks for, others are served.
  void survive(const std::function<void()>& work) {
    try {
      work();
    } catch (const std::bad_alloc&) {
      lacked_memory_ = true;
    }
  }

  // A browser cannot show a token with the request that opens a WebSocket. It says where it comes from instead, which
  // was checked, and shows a token or a ticket afterwards.
  static bool is_guest(const HttpRequest& request, const Match& match) {
    return match.route->pattern == kSocketPattern && request.header("authorization").empty() &&
           request.header("drover-signin").empty() && !request.header("origin").empty();
  }

  void greet(HttpRequest request, Target target, Match match, const std::shared_ptr<HttpConnection>& client) {
    const auto head = socket_head(request);
    if (!head) return reply(client, match.route, system_clock().mono(), head.error());
    auto taken = std::make_shared<Request>(Request{.http = std::move(request),
                                                   .target = std::move(target),
                                                   .match = std::move(match),
                                                   .client = client,
                                                   .began = system_clock().mono()});
    audience_.greet(client, *head, [this, taken](const Audience::WatcherRef& guest, const Audience::Pass& pass) {
      taken->guest = guest;
      const MonoTime now = system_clock().mono();
      const auto credentials = pass.ticket ? tickets_.redeem(*pass.ticket, now)
                                           : std::optional(credentials_of_token(pass.token.value_or("")));
      if (!credentials) {
        limiter_.note_failure(taken->http.peer, now);
        return audience_.dismiss(
            *guest, CloseCode::kPolicyViolation,
            "this ticket is not valid: it works once, within 30 seconds, on the server that made it");
      }
      taken->credentials = *credentials;
      call(taken, Try::kMayWait);
    });
  }

  void respond(const Request& request, const std::shared_ptr<HttpConnection>& client, HttpResponse response) {
    note(request, *client, response.status);
    if (request.is_stream) return end_stream(request, client, response);
    if (request.guest == nullptr) return reply(client, request.match.route, request.began, std::move(response));
    const CloseCode code = response.status == kUnavailable ? CloseCode::kTryAgainLater : CloseCode::kPolicyViolation;
    audience_.dismiss(*request.guest, code, error_of_problem(response).message);
  }

  void welcome(Request& request, const std::shared_ptr<HttpConnection>& client, Watch watch) {
    follow();
    note(request, *client, kOk);
    if (request.guest == nullptr) return audience_.join(std::move(watch), request.credentials, client);
    audience_.join(request.guest, std::move(watch), request.credentials);
  }

  // Of one call, or of several of a route that answers them together.
  std::vector<Answer> answers_of(std::span<const std::shared_ptr<Request>> requests, Try attempt) {
    struct Caller {
      Principal principal;
      GuardedQueue queue;
      GuardedAdministration administration;
      Caller(HttpApi& api, Principal who)
          : principal(std::move(who)), queue(api.queue_, principal), administration(api.administration_, principal) {}
    };
    const Route& route = *requests.front()->match.route;
    std::list<Caller> callers;
    std::vector<Call> calls;
    std::vector<std::optional<Answer>> refused;
    for (const auto& request : requests) {
      auto principal = principal_of(*request);
      refused.push_back(principal ? std::nullopt : std::optional<Answer>(unauthorised(principal.error())));
      if (!principal) continue;
      if (route.access == Access::kToken) request->principal = *principal;
      hear(*request);
      Caller& caller = callers.emplace_back(*this, *std::move(principal));
      calls.push_back({.request = request->http,
                       .target = request->target,
                       .captures = request->match.captures,
                       .queue = caller.queue,
                       .administration = caller.administration,
                       .metrics = metrics_,
                       .front = front_,
                       .doorkeeper = doorkeeper_,
                       .tickets = tickets_,
                       .credentials = request->credentials,
                       .version = version_,
                       .mcp_allowed = mcp_allowed_,
                       .made = request->made,
                       .told = request->told,
                       .audit = audit_.get(),
                       .attempt = attempt});
    }
    std::vector<Answer> answered;
    if (calls.size() == 1) answered.push_back(route.answer(calls.front()));
    if (calls.size() > 1) answered = route.answer_together(calls);
    std::vector<Answer> answers;
    for (auto next = answered.begin(); auto& refusal : refused) {
      answers.push_back(refusal ? *std::move(refusal) : std::move(*next++));
      if (auto* response = std::get_if<HttpResponse>(&answers.back())) add_retry_after(*response);
    }
    for (std::size_t i = 0; i < requests.size(); ++i) tell_seen(*requests[i], answers[i]);
    return answers;
  }

  // Those who do the work or run the fleet tell how far they have seen the store to be, and are told: RELIABILITY P11.
  // The word of others counts for nothing, because it can stop all claims.
  static const Principal* witness_of(const Request& request) {
    const std::optional<Principal>& caller = request.principal;
    return caller && need(*caller, Right::kWork) ? &*caller : nullptr;
  }

  void hear(const Request& request) {
    const Principal* witness = witness_of(request);
    if (witness == nullptr) return;
    const auto told = parse_store_mark(request.http.header(kSeenHeader));
    if (!told) return;
    const auto reveals = administration_.hear(*told);
    if (!reveals || !*reveals) return;  // a store that does not answer says so to the call itself
    log_error("server", "a client has seen events that the store no longer has",
              {{"token", witness->token_id}, {"seen", to_string(*told)}});
  }

  void tell_seen(const Request& request, Answer& answer) {
    if (witness_of(request) == nullptr) return;
    const StoreMark seen = administration_.seen();
    if (seen.store.empty() || seen.mark.number == 0) return;
    auto* handout = std::get_if<Handout>(&answer);
    auto* response = handout != nullptr ? &handout->response : std::get_if<HttpResponse>(&answer);
    if (response != nullptr) response->headers.emplace_back(kSeenHeader, to_string(seen));
  }

  // Whoever needs no token is a viewer of what nobody owns.
  Result<Principal> principal_of(const Request& request) {
    if (request.match.route->access == Access::kAnyone) {
      return Principal{.token_id = {}, .role = Role::kViewer, .owner = ""};
    }
    return doorkeeper_.principal(request.credentials);
  }

  void deliver(const std::shared_ptr<Request>& request, Answer answer, std::uint64_t pulse) {
    const auto client = request->client.lock();
    auto* const handout = std::get_if<Handout>(&answer);
    if (client == nullptr || client->is_closed()) return handout != nullptr ? give_back(*handout) : void();
    if (handout != nullptr) return respond(*request, client, std::move(handout->response));
    if (auto* response = std::get_if<HttpResponse>(&answer)) return respond(*request, client, std::move(*response));
    if (auto* watch = std::get_if<Watch>(&answer)) return welcome(*request, client, std::move(*watch));
    if (auto* pieces = std::get_if<Pieces>(&answer)) return begin_pieces(request, client, std::move(*pieces));
    Wait wait = std::get<Wait>(std::move(answer));
    if (ending_) return call(request, Try::kLast);
    if (wait.tell) tell(*request, client, *wait.tell);
    const MonoTime until = request->began + wait.at_most;
    follow();
    room_.add(std::move(wait), pulse, until, [this, request](Try attempt) { call(request, attempt); });
  }

  static std::string event_of(std::string_view message) { return fmt::format("event: message\ndata: {}\n\n", message); }

  // A message before the answer. A client that does not read misses some of them, but not the answer.
  static void tell(Request& request, const std::shared_ptr<HttpConnection>& client, std::string_view message) {
    if (request.is_stream) {
      if (client->unsent() <= kUntoldBytesMax) client->add_piece(event_of(message));
      return;
    }
    request.is_stream = true;
    HttpResponse response{.content_type = "text/event-stream", .body = event_of(message)};
    response.headers.emplace_back("cache-control", "no-store");
    response.headers.emplace_back("x-accel-buffering", "no");
    client->respond_in_pieces(std::move(response), [] {});
  }

  // The status was sent with the first message: what is no message of the protocol can only break the stream off.
  void end_stream(const Request& request, const std::shared_ptr<HttpConnection>& client, const HttpResponse& response) {
    metrics_.count_request(request.match.route, response.status, system_clock().mono() - request.began);
    if (response.content_type != "application/json") return break_off(request, error_of_problem(response).message);
    client->add_piece(event_of(response.body));
    client->end_pieces();
  }

  void begin_pieces(const std::shared_ptr<Request>& request, const std::shared_ptr<HttpConnection>& client,
                    Pieces pieces) {
    note(*request, *client, pieces.first.status);
    metrics_.count_request(request->match.route, pieces.first.status, system_clock().mono() - request->began);
    client->respond_in_pieces(std::move(pieces.first), [this, request, next = std::move(pieces.next)] {
      when_there_is_room([this, request, next] { add_piece(request, next); },
                         [request] { break_off(*request, "memory is tight"); });
    });
  }

  using NextPiece = std::function<Result<std::string>(GuardedQueue&)>;

  void add_piece(const std::shared_ptr<Request>& request, const NextPiece& next) {
    const auto waiting = request->client.lock();
    if (waiting == nullptr || waiting->is_closed()) return;
    const auto read = [this, request, next]() -> std::function<void()> {
      GuardedQueue queue(queue_, request->principal.value());
      auto piece = next(queue);
      const auto charge = count(piece ? piece->size() : 0);
      return [request, charge, piece = std::move(piece)] {
        const auto client = request->client.lock();
        if (client == nullptr) return;
        if (!piece) return break_off(*request, piece.error().message);
        piece->empty() ? client->end_pieces() : client->add_piece(*piece);
      };
    };
    const bool taken = submit(few_, read, [request] { break_off(*request, "out of memory"); });
    if (!taken) break_off(*request, "the server is overloaded");
  }

  // A body that ends without its last chunk is known to be cut.
  static void break_off(const Request& request, std::string_view why) {
    const auto client = request.client.lock();
    if (client == nullptr || client->is_closed()) return;
    log_warn("server", "a response was cut off",
             {{"route", std::string(request.match.route->pattern)}, {"why", std::string(why)}});
    client->close();
  }

  void give_back(const Handout& handout) {
    if (handout.leases.empty()) return;
    log_info("server", "a worker disconnected before it got its tasks; giving them back",
             {{"tasks", std::to_string(handout.leases.size())}});
    const auto settle = [this, leases = handout.leases]() -> std::function<void()> {
      std::vector<Settlement> items;
      for (const Lease& lease : leases) items.push_back({.lease = lease, .end = Release{Begun::kNo}});
      for (const auto& settled : queue_.settle(items)) {
        if (!settled) log_warn("server", "a task could not be given back", {{"error", to_string(settled.error())}});
      }
      return [] {};
    };
    const bool taken = submit(pool_, settle, [] {});
    if (!taken) log_warn("server", "overloaded, cannot give tasks back: they wait until their leases run out", {});
  }

  // Events are read from when somebody waits for the first time. The first pulse says that anything may have happened.
  void follow() {
    if (follower_) return;
    follower_.emplace(queue_, [this](const Pulse& pulse) {
      tell_loop([this, pulse] {
        survive([&] {
          room_.notice(pulse, system_clock().mono());
          audience_.notice(pulse);
        });
      });
    });
    following_ = &*follower_;
  }

  static HttpResponse unauthorised(const Error& error) {
    HttpResponse response = problem(error);
    if (error.code == ErrorCode::kUnauthorised) response.headers.emplace_back("www-authenticate", "Bearer");
    return response;
  }

  static HttpResponse overloaded() {
    HttpResponse response =
        problem(Error{ErrorCode::kStoreUnavailable, "the server is overloaded; try again in a moment", {}});
    add_retry_after(response);
    return response;
  }

  static HttpResponse too_many(Millis wait) {
    HttpResponse response = problem(kTooMany, Error{ErrorCode::kLimitExceeded, "too many requests; wait a little", {}});
    response.headers.emplace_back("retry-after", std::to_string(std::chrono::ceil<std::chrono::seconds>(wait).count()));
    return response;
  }

  static void add_retry_after(HttpResponse& response) {
    if (response.status == kTooMany || response.status == kUnavailable)
      response.headers.emplace_back("retry-after", "1");
  }

  TaskQueue& queue_;
  Administration& administration_;
  Doorkeeper& doorkeeper_;
  const std::string version_;
  Frontage front_;
  const Dashboard dashboard_;
  TicketBooth tickets_{system_rng()};
  const mcp::Allowed mcp_allowed_;
  AccessRules rules_;
  Metrics metrics_;
  std::vector<std::string> addresses_;
  ByteBudget budget_;  // outlives whatever is still posted to the loop
  EventLoop loop_;
  HttpServer http_;
  const std::optional<TlsFiles> tls_;
  std::unique_ptr<AuditLog> audit_;  // null: none is kept
  Limiter limiter_;
  WaitingRoom room_;
  Readiness readiness_{loop_, [this] { return look_at_store(); }};
  Audience audience_;
  int in_flight_ = 0;                               // calls that the pool has
  std::vector<std::shared_ptr<Request>> gathered_;  // of the one route that is answered together
  int together_under_way_ = 0;
  std::size_t requests_under_way_ = 0;  // in those
  std::deque<Postponed> postponed_;
  std::atomic<bool> lacked_memory_ = false;
  MonoTime complain_at_{};
  std::atomic<bool> ending_ = false;
  std::atomic<MonoTime> turned_at_ = system_clock().mono();
  CallPool audience_pool_;  // all of them end before what their calls post to
  CallPool few_;
  CallPool pool_;
  std::optional<Follower> follower_;
  std::atomic<const Follower*> following_ = nullptr;  // the same, for the pool
  std::jthread thread_;
};

}  // namespace

Result<Premises> take_premises(const ServerOptions& options) {
  Premises premises;
  if (const auto& tls = options.tls) {
    premises.certificate = TRY(TlsContext::load(tls->certificate, tls->key));
  }
  for (const std::string& address : options.listen) {
    auto listening = TRY(listen_on(address, options.tls || options.insecure ? Reach::kAnywhere : Reach::kThisMachine));
    premises.listening.push_back(std::move(listening));
  }
  if (options.audit_log) {
    premises.audit = TRY(AuditLog::open(*options.audit_log));
  }
  return premises;
}

std::unique_ptr<Server> Server::start(TaskQueue& queue, Administration& administration, Doorkeeper& doorkeeper,
                                      const ServerOptions& options, Premises premises) {
  auto server = std::make_unique<HttpApi>(queue, administration, doorkeeper, options);
  server->occupy(options, std::move(premises));
  server->begin();
  return server;
}

Result<std::unique_ptr<Server>> Server::start(TaskQueue& queue, Administration& administration, Doorkeeper& doorkeeper,
                                              const ServerOptions& options) {
  auto premises = TRY(take_premises(options));
  return start(queue, administration, doorkeeper, options, std::move(premises));
}

}  // namespace drover::server
