// /v1/tasks: what producers and those who look at tasks do.
#include <algorithm>
#include <array>
#include <iterator>

#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/try.h"
#include "core/page_limit.h"
#include "core/spec_check.h"
#include "core/trace.h"
#include "core/transcript.h"
#include "engine/spec.h"
#include "server/access.h"
#include "server/api.h"
#include "server/list_pieces.h"
#include "wire/filter_query.h"

namespace drover::server {
namespace {

constexpr std::string_view kRequestHeader = "idempotency-key";
constexpr int kListLimit = 50;
constexpr int kTaskEventLimit = 100;
constexpr int kLogLimit = 1'000;

std::unexpected<Error> bad(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

// Unlike one that is absent, an empty one is there: whoever sends it believes that it means something.
std::optional<std::string> given_header(const Call& call, std::string_view name) {
  const auto header = std::ranges::find(call.request.headers, name, &HttpHeaders::value_type::first);
  if (header == call.request.headers.end()) return std::nullopt;
  return header->second;
}

// Of every task of a batch, with its name.
std::string digest_of(std::span<const TaskSpec> group) {
  std::string all;
  for (const TaskSpec& spec : group) all += fmt::format("{} {}\n", request_fingerprint(spec), spec.ref.value_or(""));
  return sha256_hex(all);
}

// The header is the request id of the one task, or of the first of a batch; it names the others by their place. Each of
// a batch carries the digest of all: another batch under the key, or one task, is another request.
Status use_request_header(const Call& call, std::vector<TaskSpec>& group, bool is_batch) {
  const auto key = given_header(call, kRequestHeader);
  if (!key) return {};
  if (const Status good = check_name(*key); !good) return bad("Idempotency-Key: " + good.error().message);
  const std::string digest = is_batch ? digest_of(group) : "";
  for (std::size_t i = 0; i < group.size(); ++i) {
    const std::string id = i > 0 ? fmt::format("{}@{}", *key, i) : *key;
    std::optional<std::string>& given = group[i].request_id;
    if (given && *given != id) return bad("request_id and Idempotency-Key differ");
    given = id;
    group[i].request_digest = digest;
  }
  return {};
}

struct Batch {
  std::vector<TaskSpec> group;
  bool is_batch = false;
};

Result<Batch> read_batch(const Call& call) {
  Batch batch;
  json::Reader body(call.request.body);
  std::vector<std::string_view> items{call.request.body};
  if (body.has("tasks")) {
    batch.is_batch = true;
    std::vector<json::Unread> unread;
    body.need("tasks", unread);
    TRY(body.finish_strictly());
    items.assign(unread.size(), {});
    std::ranges::transform(unread, items.begin(), &json::Unread::text);
  }
  for (const std::string_view item : items) {
    auto spec = parse_task_spec(item);
    if (!spec) {
      Error error = std::move(spec.error());
      if (batch.is_batch) error.message = fmt::format("tasks[{}]: {}", batch.group.size(), error.message);
      return std::unexpected(std::move(error));
    }
    batch.group.push_back(*std::move(spec));
  }
  TRY(use_request_header(call, batch.group, batch.is_batch));
  continue_trace(call.request.header("traceparent"), batch.group);
  return batch;
}

HttpResponse answer_enqueued(const Call& call, const Batch& batch, const Result<std::vector<Enqueued>>& enqueued) {
  if (!enqueued) return problem(enqueued.error());
  call.made = enqueued->front().id.to_string();
  if (enqueued->size() > 1) call.made += fmt::format(" and {} more", enqueued->size() - 1);
  const bool made_any = std::ranges::find(*enqueued, false, &Enqueued::deduplicated) != enqueued->end();
  const int status = made_any ? kCreated : kOk;
  if (batch.is_batch) return json_response(list_json("tasks", *enqueued), status);
  return json_response(to_json(enqueued->front()), status);
}

std::vector<Answer> enqueue_together(std::span<const Call> calls) {
  std::vector<Result<Batch>> batches;
  std::vector<GuardedQueue::OfCaller> groups;
  batches.reserve(calls.size());
  for (const Call& call : calls) {
    batches.push_back(read_batch(call));
    if (batches.back()) groups.push_back({.caller = &call.queue, .group = batches.back()->group});
  }
  const auto enqueued = GuardedQueue::enqueue_together(groups);
  std::vector<Answer> answers;
  auto next = enqueued.begin();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Result<Batch>& batch = batches[i];
    answers.emplace_back(batch ? answer_enqueued(calls[i], *batch, *next++) : problem(batch.error()));
  }
  return answers;
}

Answer enqueue(const Call& call) {
  return enqueue_together(std::span(&call, 1)).front();
}

Answer spawn(const Call& call) {
  const auto id = call.task_id();
  if (!id) return problem(id.error());
  const auto lease = LeaseId::parse(call.request.header("drover-lease"));
  if (!lease) return problem(Error{ErrorCode::kInvalidArgument, "Drover-Lease: expected the lease of the task", {}});
  const auto batch = read_batch(call);
  if (!batch) return problem(batch.error());
  return answer_enqueued(call, *batch, call.queue.spawn({.task = *id, .id = *lease}, batch->group));
}

Result<ListView> view_wanted(const Call& call) {
  const std::string view = call.parameter("view").value_or("full");
  if (view == "full") return ListView::kFull;
  if (view == "summary") return ListView::kSummary;
  return bad("view: expected full or summary");
}

Result<std::shared_ptr<ListPieces>> list_pieces(const Call& call) {
  const auto filter = TRY(filter_of_query(call.target.query, {"limit", "cursor", "view", "count"}));
  const auto limit = TRY(call.number("limit", kListLimit, kPageMax));
  TRY(check_page_limit(static_cast<int>(limit)));
  const auto view = TRY(view_wanted(call));
  const auto counts = TRY(call.boolean("count", false));
  if (counts && view != ListView::kSummary) return bad("count: only with view=summary");
  auto pieces = std::make_shared<ListPieces>(view, filter, static_cast<int>(limit), call.parameter("cursor"));
  if (counts) {
    const auto count = TRY(count_matches(call.queue, filter));
    pieces->set_count(count);
  }
  return pieces;
}

// The number of the last event is asked for first: what happens while the list is read may be in it, and is told again.
Answer list(const Call& call) {
  const auto as_of = call.queue.last_event_seq();
  if (!as_of) return problem(as_of.error());
  const auto wanted = list_pieces(call);
  if (!wanted) return problem(wanted.error());
  const std::shared_ptr<ListPieces>& pieces = *wanted;
  auto first = pieces->next(call.queue);
  if (!first) return problem(first.error());
  HttpResponse response{.body = *std::move(first)};
  response.headers.emplace_back("drover-as-of", std::to_string(*as_of));
  if (pieces->is_done()) return response;
  return Pieces{.first = std::move(response), .next = [pieces](GuardedQueue& queue) { return pieces->next(queue); }};
}

HttpResponse respond_versioned(const Result<Task>& task) {
  HttpResponse response = respond(task);
  if (task) response.headers.emplace_back("etag", fmt::format("\"{}\"", version_of(*task)));
  return response;
}

Answer show(const Call& call) {
  const auto id = call.task_id();
  return respond_versioned(id ? call.queue.get(*id) : std::unexpected(id.error()));
}

Answer show_parent(const Call& call) {
  const auto child = call.task_id();
  if (!child) return problem(child.error());
  const auto parent = TaskId::parse(call.captures[1]);
  if (!parent) {
    return problem(
        Error{ErrorCode::kNotFound, fmt::format("there is no task {}", quoted_excerpt(call.captures[1])), {}});
  }
  return respond_versioned(call.queue.parent(*child, *parent));
}

// One strong entity tag. Nothing: whatever the task is like.
Result<std::optional<std::string>> version_wanted(const Call& call) {
  const auto header = given_header(call, "if-match");
  if (!header || *header == "*") return std::nullopt;
  const std::string_view tag = *header;
  const bool is_one = tag.size() >= 2 && tag.find('"', 1) == tag.size() - 1;
  if (!tag.starts_with('"') || !is_one) return bad("If-Match: expected one entity tag in quotes, or *");
  return std::string(tag.substr(1, tag.size() - 2));
}

Result<EditOrder> read_edit(const Call& call) {
  auto version = TRY(version_wanted(call));
  EditOrder order;
  const bool is_merge_patch = to_lower(call.request.header("content-type")).starts_with("application/merge-patch+json");
  TRY(is_merge_patch ? read_merge_patch(body_of(call), order) : read_json(body_of(call), order));
  order.version = std::move(version);
  return order;
}

Answer edit(const Call& call) {
  const auto id = call.task_id();
  if (!id) return problem(id.error());
  const auto order = read_edit(call);
  return respond_versioned(order ? call.queue.edit(*id, *order) : std::unexpected(order.error()));
}

Answer wait_for_end(const Call& call) {
  const auto id = call.task_id();
  if (!id) return problem(id.error());
  const auto timeout = call.duration("timeout", kWaitMax, kWaitMax);
  if (!timeout) return problem(timeout.error());
  const auto task = call.queue.get(*id);
  if (task && !is_terminal(task->state) && call.attempt == Try::kMayWait) {
    return Wait{.for_what = Wait::OfTask{*id}, .at_most = *timeout};
  }
  return respond(task);
}

Answer runs(const Call& call) {
  const auto id = call.task_id();
  if (!id) return problem(id.error());
  return respond_list("runs", call.queue.runs(*id));
}

// The log as a file, read page by page as the client takes it. The transcript is not output, and not in it.
class LogFile {
 public:
  LogFile(TaskId id, std::optional<int> run) : id_(id), query_{.run = run} {}

  [[nodiscard]] Result<std::string> next(GuardedQueue& queue) {
    std::string text;
    while (text.empty() && !is_done_) {
      const auto page = TRY(queue.log(id_, query_));
      for (const LogRecord& record : page.records) add(record, text);
      is_done_ = page.records.empty();
    }
    return text;
  }
  [[nodiscard]] bool is_done() const { return is_done_; }

 private:
  void add(const LogRecord& record, std::string& text) {
    query_.after = record.seq;
    if (record.stream == LogStream::kTranscript) return;
    if (record.left_out_before > 0) text += fmt::format("\n[{} bytes left out here]\n", record.left_out_before);
    text += record.text;
  }

  TaskId id_;
  LogQuery query_;
  bool is_done_ = false;
};

Answer log_file(const Call& call, const TaskId& id, std::optional<int> run) {
  auto file = std::make_shared<LogFile>(id, run);
  auto first = file->next(call.queue);
  if (!first) return problem(first.error());
  HttpResponse response{.content_type = "text/plain; charset=utf-8", .body = *std::move(first)};
  const std::string name = run ? fmt::format("{}-run-{}.log", id.to_string(), *run) : id.to_string() + ".log";
  response.headers.emplace_back("content-disposition", fmt::format("attachment; filename=\"{}\"", name));
  if (file->is_done()) return response;
  return Pieces{.first = std::move(response), .next = [file](GuardedQueue& queue) { return file->next(queue); }};
}

Result<LogQuery> log_query(const Call& call) {
  TRY(call.only({"after", "before", "tail", "run", "limit", "wait", "format"}));
  LogQuery query;
  query.after = TRY(call.number("after", 0, INT64_MAX));
  const auto limit = TRY(call.number("limit", kLogLimit, kPageMax));
  query.limit = static_cast<int>(limit);
  if (call.parameter("before")) query.before = TRY(call.number("before", 0, INT64_MAX));
  const auto run = TRY(call.number("run", 0, INT32_MAX));
  if (call.parameter("run")) query.run = static_cast<int>(run);
  if (!call.parameter("tail")) return query;
  if (call.parameter("after") || call.parameter("before")) return bad("tail: not together with after or before");
  const auto tail = TRY(call.number("tail", 0, kPageMax));
  query.before = kLogEnd;
  query.limit = static_cast<int>(tail);
  return query;
}

Answer log(const Call& call) {
  const auto id = call.task_id();
  if (!id) return problem(id.error());
  const auto query = log_query(call);
  if (!query) return problem(query.error());
  const std::string format = call.parameter("format").value_or("json");
  if (format == "text") return log_file(call, *id, query->run);
  if (format != "json") return problem(bad("format: expected json or text").error());
  const auto wait = call.duration("wait", Millis{0}, kWaitMax);
  if (!wait) return problem(wait.error());
  const auto page = call.queue.log(*id, *query);
  if (page && page->records.empty() && *wait > Millis{0} && call.attempt == Try::kMayWait) {
    const auto task = call.queue.get(*id);
    if (task && !is_terminal(task->state)) return Wait{.for_what = Wait::Change{}, .at_most = *wait};
  }
  return respond(page);
}

Answer graph(const Call& call) {
  const auto id = call.task_id();
  if (!id) return problem(id.error());
  if (const Status known = call.only({"owner", "limit"}); !known) return problem(known.error());
  const auto limit = call.number("limit", kGraphTasksMax, kGraphTasksMax);
  if (!limit) return problem(limit.error());
  return respond(call.queue.graph(*id, call.parameter("owner"), static_cast<int>(*limit)));
}

Answer task_events(const Call& call) {
  const auto id = call.task_id();
  if (!id) return problem(id.error());
  if (const Status known = call.only({"after", "limit"}); !known) return problem(known.error());
  const auto after = call.number("after", 0, INT64_MAX);
  const auto limit = call.number("limit", kTaskEventLimit, kPageMax);
  if (!after) return problem(after.error());
  if (!limit) return problem(limit.error());
  if (const Status good = check_page_limit(static_cast<int>(*limit)); !good) return problem(good.error());
  const auto page = call.queue.task_events(*id, *after, static_cast<int>(*limit));
  if (!page) return problem(page.error());
  std::string body = list_json("events", page->events);
  body.pop_back();
  return json_response(fmt::format(R"({},"next":{},"more":{}}})", body, page->next, page->more));
}

// Pages go by records of the log: one may have no line of the transcript.
Answer transcript(const Call& call) {
  const auto id = call.task_id();
  const auto after = call.number("after", 0, INT64_MAX);
  if (!id) return problem(id.error());
  if (!after) return problem(after.error());
  const auto page = call.queue.log(*id, *after, kPageMax);
  if (!page) return problem(page.error());
  TranscriptLines joined;
  std::vector<TranscriptLine> lines;
  for (const LogRecord& record : page->records) std::ranges::move(joined.feed(record), std::back_inserter(lines));
  // A record in which another line begins is for the next page, unless that line is larger than a page.
  const bool has_more = page->records.size() == static_cast<std::size_t>(kPageMax);
  std::int64_t next = std::max(*after, joined.complete_until());
  if (has_more && next == *after) next = page->records.back().seq;
  std::erase_if(lines, [&](const TranscriptLine& line) { return line.seq > next; });
  std::string body = list_json("lines", lines);
  body.pop_back();
  return json_response(
      fmt::format(R"({},"next":{},"has_more":{},"left_out_bytes":{}}})", body, next, has_more, page->left_out_bytes));
}

Answer explain(const Call& call) {
  const auto id = call.task_id();
  return respond(id ? call.queue.explain(*id) : std::unexpected(id.error()));
}

Answer cancel(const Call& call) {
  const auto id = call.task_id();
  if (!id) return problem(id.error());
  std::string reason;
  json::Reader body(body_of(call));
  body.get("reason", reason);
  if (const Status read = body.finish_strictly(); !read) return problem(read.error());
  return respond(call.queue.cancel(*id, Verdict{.why = reason}));
}

Answer preview_cancel(const Call& call) {
  const auto id = call.task_id();
  if (!id) return problem(id.error());
  return respond_list("effects", call.queue.preview_cancel(*id));
}

Answer retry(const Call& call) {
  const auto id = call.task_id();
  if (!id) return problem(id.error());
  const auto order = read_body<RetryOrder>(call);
  return respond(order ? call.queue.retry(*id, *order) : std::unexpected(order.error()));
}

Answer escalate(const Call& call) {
  const auto id = call.task_id();
  if (!id) return problem(id.error());
  EscalateOrder order;
  json::Reader body(call.request.body);
  body.need("to", order.to).get("why", order.verdict.why);
  if (const Status read = body.finish_strictly(); !read) return problem(read.error());
  return respond(call.queue.escalate(*id, order));
}

Answer remove(const Call& call) {
  const auto id = call.task_id();
  if (!id) return problem(id.error());
  if (const Status known = call.only({"why"}); !known) return problem(known.error());
  return respond(call.queue.remove(*id, {.why = call.parameter("why").value_or("")}));
}

constexpr std::array kTaskRoutes{
    Route{"POST", "/v1/tasks", enqueue, Access::kToken, AnsweredBy::kPool, enqueue_together},
    Route{"GET", "/v1/tasks", list, Access::kToken, AnsweredBy::kFew},
    Route{"GET", "/v1/tasks/{id}", show, Access::kToken, AnsweredBy::kFew},
    Route{"PATCH", "/v1/tasks/{id}", edit},
    Route{"DELETE", "/v1/tasks/{id}", remove},
    Route{"GET", "/v1/tasks/{id}/wait", wait_for_end},
    Route{"GET", "/v1/tasks/{id}/parents/{parent}", show_parent, Access::kToken, AnsweredBy::kFew},
    Route{"GET", "/v1/tasks/{id}/runs", runs, Access::kToken, AnsweredBy::kFew},
    Route{"GET", "/v1/tasks/{id}/log", log, Access::kToken, AnsweredBy::kFew},
    Route{"GET", "/v1/tasks/{id}/transcript", transcript, Access::kToken, AnsweredBy::kFew},
    Route{"GET", "/v1/tasks/{id}/explain", explain},
    Route{"GET", "/v1/tasks/{id}/graph", graph, Access::kToken, AnsweredBy::kFew},
    Route{"GET", "/v1/tasks/{id}/events", task_events, Access::kToken, AnsweredBy::kFew},
    Route{"POST", "/v1/tasks/{id}/cancel", cancel},
    Route{"GET", "/v1/tasks/{id}/cancel", preview_cancel},
    Route{"POST", "/v1/tasks/{id}/retry", retry},
    Route{"POST", "/v1/tasks/{id}/escalate", escalate},
    Route{"POST", "/v1/tasks/{id}/children", spawn},
};

}  // namespace

std::span<const Route> task_routes() {
  return kTaskRoutes;
}

}  // namespace drover::server
