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

Answer list(const Call& call) {
  const auto filter = filter_of_query(call.target.query, {"limit", "cursor"});
  const auto limit = call.number("limit", kListLimit, kPageMax);
  if (!filter) return problem(filter.error());
  if (!limit) return problem(limit.error());
  if (const Status good = check_page_limit(static_cast<int>(*limit)); !good) return problem(good.error());
  auto pieces = std::make_shared<ListPieces>(*filter, static_cast<int>(*limit), call.parameter("cursor"));
  auto first = pieces->next(call.queue);
  if (!first) return problem(first.error());
  HttpResponse response{.body = *std::move(first)};
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

Answer log(const Call& call) {
  const auto id = call.task_id();
  const auto after = call.number("after", 0, INT64_MAX);
  const auto limit = call.number("limit", kLogLimit, kPageMax);
  if (!id) return problem(id.error());
  if (!after) return problem(after.error());
  if (!limit) return problem(limit.error());
  return respond(call.queue.log(*id, *after, static_cast<int>(*limit)));
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
  return respond(call.queue.cancel(*id, reason));
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
  body.need("to", order.to).get("by", order.verdict.by).get("why", order.verdict.why);
  if (const Status read = body.finish_strictly(); !read) return problem(read.error());
  return respond(call.queue.escalate(*id, order));
}

Answer remove(const Call& call) {
  const auto id = call.task_id();
  if (!id) return problem(id.error());
  return respond(
      call.queue.remove(*id, {.by = call.parameter("by").value_or(""), .why = call.parameter("why").value_or("")}));
}

constexpr std::array kTaskRoutes{
    Route{"POST", "/v1/tasks", enqueue, Access::kToken, AnsweredBy::kPool, enqueue_together},
    Route{"GET", "/v1/tasks", list, Access::kToken, AnsweredBy::kFew},
    Route{"GET", "/v1/tasks/{id}", show, Access::kToken, AnsweredBy::kFew},
    Route{"PATCH", "/v1/tasks/{id}", edit},
    Route{"DELETE", "/v1/tasks/{id}", remove},
    Route{"GET", "/v1/tasks/{id}/wait", wait_for_end},
    Route{"GET", "/v1/tasks/{id}/runs", runs, Access::kToken, AnsweredBy::kFew},
    Route{"GET", "/v1/tasks/{id}/log", log, Access::kToken, AnsweredBy::kFew},
    Route{"GET", "/v1/tasks/{id}/transcript", transcript, Access::kToken, AnsweredBy::kFew},
    Route{"GET", "/v1/tasks/{id}/explain", explain},
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
