#include "remote/remote_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "base/json_reader.h"
#include "base/text.h"
#include "net/http_client.h"
#include "net/url.h"
#include "remote/checks.h"
#include "remote/server_url.h"
#include "wire/filter_query.h"
#include "wire/read.h"
#include "wire/write.h"

namespace drover {
namespace {

constexpr int kFirstBadStatus = 400;
// A look at everything takes as long as there is much.
constexpr Millis kFsckTimeout{600'000};
// What a server waits at most on behalf of a client.
constexpr Millis kWaitMax{30'000};
constexpr Millis kPauseAfterFailure{500};

using Query = std::vector<std::pair<std::string, std::string>>;

std::string with_query(std::string path, const Query& query) {
  char separator = '?';
  for (const auto& [name, value] : query) {
    path += fmt::format("{}{}={}", separator, name, percent_encode(value));
    separator = '&';
  }
  return path;
}

std::string task_path(const TaskId& id, std::string_view verb = {}) {
  return fmt::format("/v1/tasks/{}{}{}", id.to_string(), verb.empty() ? "" : "/", verb);
}

std::string worker_path(const std::string& id, std::string_view verb = {}) {
  return fmt::format("/v1/workers/{}{}{}", percent_encode(id), verb.empty() ? "" : "/", verb);
}

// {"NAME": [..]}
template <class T>
struct Listed {
  std::string_view name;
  std::vector<T> items;
};
template <class T>
Status read_json(std::string_view json, Listed<T>& out) {
  json::Reader in(json);
  in.need(out.name, out.items);
  return in.finish();
}

// {"NAME": VALUE}
template <class T>
struct Named {
  std::string_view name;
  T value{};
};
template <class T>
Status read_json(std::string_view json, Named<T>& out) {
  json::Reader in(json);
  in.need(out.name, out.value);
  return in.finish();
}

class Body {
 public:
  Body() { out_.begin_object(); }
  Body& text(std::string_view name, std::string_view value) {
    out_.key(name).string(value);
    return *this;
  }
  Body& number(std::string_view name, std::int64_t value) {
    out_.key(name).number(value);
    return *this;
  }
  Body& boolean(std::string_view name, bool value) {
    out_.key(name).boolean(value);
    return *this;
  }
  Body& json(std::string_view name, std::string_view value) {
    out_.key(name).raw(value.empty() ? " " : value);  // no text is no JSON, as the server will say
    return *this;
  }
  template <class Items>
  Body& list(std::string_view name, const Items& items) {
    out_.key(name).begin_array();
    for (const auto& item : items) out_.raw(to_json(item));
    out_.end_array();
    return *this;
  }
  [[nodiscard]] std::string take() {
    out_.end_object();
    return std::move(out_).take();
  }

 private:
  json::Writer out_;
};

class RemoteQueue final : public TaskQueue {
 public:
  RemoteQueue(std::vector<ServerPlace> places, RemoteOptions options) : options_(std::move(options)) {
    for (ServerPlace& place : places) servers_.push_back(std::make_unique<RemoteServer>(std::move(place)));
  }

  ~RemoteQueue() override { leaving_.raise(); }

  Result<std::vector<Enqueued>> enqueue(std::span<const TaskSpec> group) override {
    if (const Status good = check_group(group); !good) return std::unexpected(good.error());
    return ask_list<Enqueued>("tasks", "POST", "/v1/tasks", Body().list("tasks", group).take());
  }

  Result<std::vector<Enqueued>> spawn(const Lease& spawner, std::span<const TaskSpec> group) override {
    if (const Status good = check_group(group); !good) return std::unexpected(good.error());
    Listed<Enqueued> listed{.name = "tasks", .items = {}};
    const Status asked =
        ask_into(listed, "POST", task_path(spawner.task, "children"), Body().list("tasks", group).take(),
                 options_.timeout, {{"drover-lease", spawner.id.to_string()}});
    if (!asked) return std::unexpected(asked.error());
    return std::move(listed.items);
  }

  Result<Task> get(const TaskId& id) override { return ask<Task>("GET", task_path(id)); }

  Result<std::vector<RunSummary>> runs(const TaskId& id) override {
    return ask_list<RunSummary>("runs", "GET", task_path(id, "runs"));
  }

  Result<TaskPage> list(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor) override {
    Query query = query_of_filter(filter);
    query.emplace_back("limit", std::to_string(limit));
    if (cursor) query.emplace_back("cursor", *cursor);
    return ask<TaskPage>("GET", with_query("/v1/tasks", query));
  }

  Result<CancelOutcome> cancel(const TaskId& id, const std::string& reason) override {
    if (const Status good = check_texts({reason}); !good) return std::unexpected(good.error());
    return ask<CancelOutcome>("POST", task_path(id, "cancel"), Body().text("reason", reason).take());
  }

  Result<std::vector<CancelEffect>> preview_cancel(const TaskId& id) override {
    return ask_list<CancelEffect>("effects", "GET", task_path(id, "cancel"));
  }

  Result<Task> edit(const TaskId& id, const EditOrder& order) override {
    if (const Status good = check_edit_texts(order); !good) return std::unexpected(good.error());
    HttpHeaders headers;
    if (order.version) headers.emplace_back("if-match", fmt::format("\"{}\"", *order.version));
    Task task;
    const Status asked = ask_into(task, "PATCH", task_path(id), to_json(order), options_.timeout, std::move(headers));
    if (!asked) return std::unexpected(asked.error());
    return task;
  }

  using TaskQueue::retry;
  Result<Task> retry(const TaskId& id, const RetryOrder& order) override {
    if (const Status good = check_texts({order.verdict.by, order.verdict.why}); !good) {
      return std::unexpected(good.error());
    }
    return ask<Task>("POST", task_path(id, "retry"), to_json(order));
  }

  Result<std::vector<Event>> events(std::int64_t after, int limit) override {
    for (;;) {
      Named<std::int64_t> next{.name = "next"};
      Listed<Event> listed{.name = "events", .items = {}};
      const auto body =
          fetch("GET", with_query("/v1/events", {{"after", std::to_string(after)}, {"limit", std::to_string(limit)}}));
      if (!body) return std::unexpected(body.error());
      if (const Status read = read_json(*body, listed); !read) return unreadable(read.error());
      if (const Status read = read_json(*body, next); !read) return unreadable(read.error());
      // Among many events of others there may be none of ours.
      if (!listed.items.empty() || next.value == after) return std::move(listed.items);
      after = next.value;
    }
  }

  Result<std::int64_t> last_event_seq() override { return ask_value<std::int64_t>("seq", "GET", "/v1/events/last"); }

  Result<LogPage> log(const TaskId& id, std::int64_t after, int limit) override {
    return ask<LogPage>(
        "GET", with_query(task_path(id, "log"), {{"after", std::to_string(after)}, {"limit", std::to_string(limit)}}));
  }

  Status register_worker(const WorkerInfo& worker) override { return tell("POST", "/v1/workers", to_json(worker)); }

  Status unregister_worker(const std::string& worker_id, const std::string& reason) override {
    return tell("DELETE", with_query(worker_path(worker_id), {{"reason", reason}}));
  }

  Result<std::vector<WorkerInfo>> workers() override { return ask_list<WorkerInfo>("workers", "GET", "/v1/workers"); }

  Result<std::vector<ClaimedTask>> claim(const ClaimRequest& request) override {
    return ask_list<ClaimedTask>("tasks", "POST", worker_path(request.worker_id, "claim"), to_json(request));
  }

  Result<Beat> renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) override {
    return ask<Beat>("POST", worker_path(worker_id, "heartbeat"),
                     Body().list("leases", leases).number("lease_ms", lease.count()).take());
  }

  Status progress(const Lease& lease, const Progress& progress) override {
    if (Status good = check_texts({progress.message}); !good) return good;
    return tell("POST", task_path(lease.task, "progress"),
                Body()
                    .text("lease_id", lease.id.to_string())
                    .number("percent", progress.percent)
                    .text("message", progress.message)
                    .take());
  }

  Status append_log(const Lease& lease, std::span<const LogChunk> chunks) override {
    return tell("POST", task_path(lease.task, "log"),
                Body().text("lease_id", lease.id.to_string()).list("chunks", chunks).take());
  }

  Status checkpoint(const Lease& lease, const JsonText& value) override {
    return tell("POST", task_path(lease.task, "checkpoint"),
                Body().text("lease_id", lease.id.to_string()).json("value", value).take());
  }

  // One that is bad is not sent: inside a document it would spoil the others.
  std::vector<Result<TaskState>> settle(std::span<const Settlement> items) override {
    std::vector<Result<TaskState>> answers(items.size(), TaskState::kPending);
    std::vector<Settlement> good;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (const Status checked = check_settlement(items[i]); !checked) {
        answers[i] = std::unexpected(checked.error());
        continue;
      }
      good.push_back(items[i]);
      places.push_back(i);
    }
    if (good.empty()) return answers;
    const auto settled = ask_settled(Body().list("items", good).take(), good.size());
    for (std::size_t i = 0; i < good.size(); ++i) {
      answers[places[i]] = settled ? (*settled)[i] : std::unexpected(settled.error());
    }
    return answers;
  }

  Result<Backlog> backlog(std::span<const Serve> serves) override {
    return ask<Backlog>("POST", "/v1/backlog", Body().list("serves", serves).take());
  }

  Result<int> requeue_stalled(Millis max_age) override {
    return ask_value<int>("requeued", "POST", "/v1/stalled", Body().number("max_age_ms", max_age.count()).take());
  }

  Status drain_worker(const DrainOrder& order) override {
    if (Status good = check_texts({order.why, order.by}); !good) return good;
    return tell("POST", worker_path(order.worker_id, "drain"),
                Body().text("why", order.why).text("by", order.by).take());
  }

  Result<std::vector<ErrorGroup>> error_groups(const TaskFilter& filter) override {
    return ask_list<ErrorGroup>("groups", "GET", with_query("/v1/dlq", query_of_filter(filter)));
  }

  Result<Task> escalate(const TaskId& id, const EscalateOrder& order) override {
    if (const Status good = check_texts({order.to, order.verdict.by, order.verdict.why}); !good) {
      return std::unexpected(good.error());
    }
    return ask<Task>("POST", task_path(id, "escalate"),
                     Body().text("to", order.to).text("by", order.verdict.by).text("why", order.verdict.why).take());
  }

  Status remove(const TaskId& id, const Verdict& verdict) override {
    return tell("DELETE", with_query(task_path(id), {{"by", verdict.by}, {"why", verdict.why}}));
  }

  Result<std::vector<GateStatus>> gates() override { return ask_list<GateStatus>("gates", "GET", "/v1/gates"); }

  Result<GateStatus> set_gate(const GateOrder& order) override {
    if (const Status good = check_texts({order.why, order.by}); !good) return std::unexpected(good.error());
    Body body;
    body.text("why", order.why).text("by", order.by);
    if (const auto* close = std::get_if<GateOrder::Close>(&order.what)) {
      body.text("action", "close");
      if (close->until != kUntilOpened) body.text("until", format_time(close->until));
    } else if (const auto* limit = std::get_if<GateOrder::Limit>(&order.what)) {
      body.text("action", "limit");
      if (limit->permits) body.number("permits", *limit->permits);
    } else {
      body.text("action", "open");
    }
    return ask<GateStatus>("POST", "/v1/gates/" + percent_encode(order.gate), body.take());
  }

  Result<std::vector<QueueStatus>> queues() override { return ask_list<QueueStatus>("queues", "GET", "/v1/queues"); }
  Result<Stats> stats() override { return ask<Stats>("GET", "/v1/stats"); }
  Result<Stats> owner_stats(const std::string& owner) override {
    return ask<Stats>("GET", with_query("/v1/stats", {{"owner", owner}}));
  }
  Result<std::vector<Alert>> alerts() override { return ask_list<Alert>("alerts", "GET", "/v1/alerts"); }
  Result<Explanation> explain(const TaskId& id) override { return ask<Explanation>("GET", task_path(id, "explain")); }
  Result<Config> config() override { return ask<Config>("GET", "/v1/config"); }

  Result<Config> apply_config(const JsonText& document, std::int64_t based_on_version) override {
    if (const Status good = check_document(document); !good) return std::unexpected(good.error());
    return ask<Config>("PUT", "/v1/config",
                       Body().number("version", based_on_version).json("document", document).take());
  }

  Result<std::vector<Finding>> fsck(FsckMode mode) override {
    Listed<Finding> listed{.name = "findings", .items = {}};
    const Status asked = ask_into(listed, "POST", "/v1/fsck",
                                  Body().boolean("repair", mode == FsckMode::kRepair).take(), kFsckTimeout, {});
    if (!asked) return std::unexpected(asked.error());
    return std::move(listed.items);
  }

  // Counts what this client did or heard of. A wait from a number that is behind ends at once.
  std::uint64_t changes() override { return changes_.load(); }

  void wait_for_change(std::uint64_t seen, Millis timeout) override { wait(seen, timeout, {}); }

  void wait_for_work(std::span<const Serve> serves, std::uint64_t seen, Millis timeout) override {
    Query queues;
    for (const Serve& serve : serves) queues.emplace_back("queue", serve.queue);
    wait(seen, timeout, std::move(queues));
  }

 private:
  void wait(std::uint64_t seen, Millis timeout, Query query) {
    if (changes_.load() != seen) return;
    timeout = std::min(timeout, kWaitMax);
    const std::uint64_t heard = heard_.load();
    query.emplace_back("seen", std::to_string(heard));
    query.emplace_back("timeout", format_duration(timeout));
    Named<std::uint64_t> changes{.name = "changes"};
    const Status asked = ask_into(changes, "GET", with_query("/v1/changes", query), {}, timeout + options_.timeout, {});
    if (!asked) return leaving_.wait(std::min(timeout, kPauseAfterFailure));
    if (changes.value == heard) return;
    heard_ = changes.value;
    ++changes_;
  }

  Result<std::vector<Result<TaskState>>> ask_settled(std::string request, std::size_t count) {
    const auto body = fetch("POST", "/v1/settlements", std::move(request));
    if (!body) return std::unexpected(body.error());
    Listed<json::Place> listed{.name = "items", .items = {}};
    if (const Status read = read_json(*body, listed); !read) return unreadable(read.error());
    std::vector<Result<TaskState>> settled;
    for (const json::Place& item : listed.items) {
      json::Reader in(item.text);
      TaskState state{};
      std::string code;
      std::string detail;
      in.get("state", state).get("code", code).get("detail", detail);
      if (const Status read = in.finish(); !read) return unreadable(read.error());
      if (code.empty()) {
        settled.emplace_back(state);
      } else {
        settled.emplace_back(
            drover::fail(error_code_from_name(code).value_or(ErrorCode::kInternal), std::move(detail)));
      }
    }
    if (settled.size() != count)
      return drover::fail(ErrorCode::kStoreUnavailable, "the server answered for other items");
    return settled;
  }

  static std::unexpected<Error> unreadable(const Error& error) {
    return drover::fail(ErrorCode::kStoreUnavailable,
                        fmt::format("the server's answer makes no sense: {}", error.message), "remote.read");
  }

  struct RemoteServer {
    explicit RemoteServer(ServerPlace place) : client(std::move(place.endpoint)), host(std::move(place.host)) {}

    HttpClient client;
    const std::string host;
  };

  // With the server that answered last. When it does not answer the next one is asked from then on: at once if the
  // request cannot have taken effect, or may take effect twice; else the caller decides.
  Result<HttpResponse> exchange(HttpRequest request, Millis timeout) {
    request.headers.emplace_back("host", "");
    Result<HttpResponse> response = drover::fail(ErrorCode::kStoreUnavailable, "no server");
    for (std::size_t tries = 0; tries < servers_.size(); ++tries) {
      std::size_t number = current_.load();
      RemoteServer& server = *servers_[number];
      request.headers.back().second = server.host;
      response = server.client.exchange(request, timeout, &leaving_);
      if (response || leaving_.is_raised()) return response;
      current_.compare_exchange_strong(number, (number + 1) % servers_.size());
      if (request.method != "GET" && response.error().operation != kConnectOperation) return response;
    }
    return response;
  }

  // The body of a good answer, or the error that the server tells of.
  Result<std::string> fetch(const std::string& method, std::string target, std::string body, Millis timeout,
                            HttpHeaders headers) {
    if (!options_.token.empty()) headers.emplace_back("authorization", "Bearer " + options_.token);
    const HttpRequest request{
        .method = method, .target = std::move(target), .body = std::move(body), .headers = std::move(headers)};
    auto response = exchange(request, timeout);
    if (!response) return std::unexpected(std::move(response.error()));
    if (response->status >= kFirstBadStatus) return std::unexpected(error_of_problem(*response));
    if (method != "GET") ++changes_;
    return std::move(response->body);
  }
  Result<std::string> fetch(const std::string& method, std::string target, std::string body = {}) {
    return fetch(method, std::move(target), std::move(body), options_.timeout, {});
  }

  template <class T>
  Status ask_into(T& out, const std::string& method, std::string target, std::string body, Millis timeout,
                  HttpHeaders headers) {
    const auto answer = fetch(method, std::move(target), std::move(body), timeout, std::move(headers));
    if (!answer) return std::unexpected(answer.error());
    if (const Status read = read_json(*answer, out); !read) return unreadable(read.error());
    return {};
  }

  template <class T>
  Result<T> ask(const std::string& method, std::string target, std::string body = {}) {
    T value{};
    const Status asked = ask_into(value, method, std::move(target), std::move(body), options_.timeout, {});
    if (!asked) return std::unexpected(asked.error());
    return value;
  }

  template <class T>
  Result<std::vector<T>> ask_list(std::string_view name, const std::string& method, std::string target,
                                  std::string body = {}) {
    Listed<T> listed{.name = name, .items = {}};
    const Status asked = ask_into(listed, method, std::move(target), std::move(body), options_.timeout, {});
    if (!asked) return std::unexpected(asked.error());
    return std::move(listed.items);
  }

  template <class T>
  Result<T> ask_value(std::string_view name, const std::string& method, std::string target, std::string body = {}) {
    Named<T> named{.name = name};
    const Status asked = ask_into(named, method, std::move(target), std::move(body), options_.timeout, {});
    if (!asked) return std::unexpected(asked.error());
    return named.value;
  }

  Status tell(const std::string& method, std::string target, std::string body = {}) {
    const auto answer = fetch(method, std::move(target), std::move(body));
    if (!answer) return std::unexpected(answer.error());
    return {};
  }

  std::vector<std::unique_ptr<RemoteServer>> servers_;
  std::atomic<std::size_t> current_{0};
  const RemoteOptions options_;
  const Interrupt leaving_;
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<std::uint64_t> heard_{0};  // the server's own count
};

}  // namespace

Result<std::unique_ptr<TaskQueue>> open_remote(RemoteOptions options) {
  auto places = parse_server_urls(options.url);
  if (!places) return std::unexpected(places.error());
  return std::make_unique<RemoteQueue>(*std::move(places), std::move(options));
}

}  // namespace drover
