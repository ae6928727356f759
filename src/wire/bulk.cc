#include "wire/bulk.h"

#include "base/json.h"
#include "base/try.h"
#include "wire/filter_query.h"
#include "wire/read.h"
#include "wire/read_names.h"
#include "wire/write.h"

namespace drover {
namespace {

using json::Reader;
using json::Writer;
using Query = std::vector<std::pair<std::string, std::string>>;

// A member of a filter as parameters of a query.
Status add_parameters(const std::string& name, const json::Value& value, Query& query) {
  if (value.is_null()) return {};
  if (const std::string* text = value.as_string()) {
    query.emplace_back(name, *text);
  } else if (const bool* truth = value.as_bool()) {
    query.emplace_back(name, *truth ? "true" : "false");
  } else if (const json::Value::Array* items = value.as_array()) {
    for (const json::Value& item : *items) TRY(add_parameters(name, item, query));
  } else {
    return fail(ErrorCode::kInvalidArgument, name + ": expected a string, a boolean or an array of strings");
  }
  return {};
}

void put_ids(Writer& out, std::string_view name, const std::vector<TaskId>& ids) {
  out.key(name).begin_array();
  for (const TaskId& id : ids) out.string(id.to_string());
  out.end_array();
}

std::string retry_json(const RetryOrder& order) {
  Writer out;
  out.begin_object();
  if (order.payload) out.key("payload").raw(*order.payload);
  if (order.patch) out.key("patch").raw(*order.patch);
  if (order.run_at) out.key("run_at").string(format_time(*order.run_at));
  out.end_object();
  return std::move(out).take();
}

Status read_retry(std::string_view json, RetryOrder& out) {
  Reader in(json);
  in.get_any_text("payload", out.payload).get_any_text("patch", out.patch).get("run_at", out.run_at);
  return in.finish_strictly();
}

// What an order and an operation have in common; what is unset is null.
void put_what(Writer& out, const BulkOrder& order) {
  out.key("verb").string(name_of(order.verb)).key("filter");
  order.filter ? out.raw(to_json(*order.filter)) : out.null();
  out.key("retry");
  order.retry ? out.raw(retry_json(*order.retry)) : out.null();
  out.key("edit");
  order.edit ? out.raw(to_json(*order.edit)) : out.null();
  out.key("to").string_or_null(order.to);
  out.key("by").string(order.verdict.by).key("why").string(order.verdict.why);
}

Status read_what(Reader& in, BulkOrder& order) {
  std::optional<std::string> retry;
  std::optional<std::string> edit;
  in.need("verb", order.verb).get("filter", order.filter).get("to", order.to);
  in.get_text("retry", retry).get_text("edit", edit);
  in.get("by", order.verdict.by).get("why", order.verdict.why);
  if (retry) TRY(read_retry(*retry, order.retry.emplace()));
  if (edit) TRY(read_json(*edit, order.edit.emplace()));
  return {};
}

void put_problems(Writer& out, const std::vector<BulkProblem>& problems) {
  out.key("problems").begin_array();
  for (const BulkProblem& problem : problems) {
    out.begin_object().key("id").string(problem.id.to_string());
    out.key("code").string(error_info(problem.code).name).key("message").string(problem.message).end_object();
  }
  out.end_array();
}

}  // namespace

Status read_json(std::string_view json, BulkProblem& out) {
  Reader in(json);
  std::string code;
  in.need("id", out.id).need("code", code).need("message", out.message);
  out.code = error_code_from_name(code).value_or(ErrorCode::kInternal);
  return in.finish();
}

Status read_json(std::string_view json, BulkVerb& out) {
  return read_name(json, out, "verb", parse_bulk_verb);
}

Status read_json(std::string_view json, BulkState& out) {
  return read_name(json, out, "state", parse_bulk_state);
}

Status read_json(std::string_view json, BulkId& out) {
  return read_name(json, out, "id", BulkId::parse);
}

std::string to_json(const TaskFilter& filter) {
  Writer out;
  out.begin_object();
  for (const auto& [name, value] : query_of_filter(filter)) {
    if (name == "state") continue;
    out.key(name);
    name == "escalated" ? out.boolean(value == "true") : out.string(value);
  }
  if (!filter.states.empty()) {
    out.key("state").begin_array();
    for (const TaskState state : filter.states) out.string(name_of(state));
    out.end_array();
  }
  out.end_object();
  return std::move(out).take();
}

Status read_json(std::string_view json, TaskFilter& out) {
  const auto value = TRY(json::parse(json));
  const json::Value::Object* members = value.as_object();
  if (members == nullptr) return fail(ErrorCode::kInvalidArgument, "expected an object");
  Query query;
  for (const auto& [name, member] : *members) TRY(add_parameters(name, member, query));
  out = TRY(filter_of_query(query, {}));
  return {};
}

std::string to_json(const BulkRequest& request) {
  const BulkOrder& order = request.order;
  Writer out;
  out.begin_object();
  put_what(out, order);
  if (!order.ids.empty()) put_ids(out, "ids", order.ids);
  if (request.mode == BulkMode::kDryRun) out.key("dry_run").boolean(true);
  out.end_object();
  return std::move(out).take();
}

Status read_json(std::string_view json, BulkRequest& out) {
  Reader in(json);
  bool dry_run = false;
  const Status what = read_what(in, out.order);
  in.get("ids", out.order.ids).get("dry_run", dry_run);
  TRY(in.finish_strictly());
  out.mode = dry_run ? BulkMode::kDryRun : BulkMode::kStart;
  return what;
}

std::string to_json(const BulkPreview& preview) {
  Writer out;
  out.begin_object().key("verb").string(name_of(preview.verb)).key("matched").number(preview.matched);
  out.key("exact").boolean(preview.exact).key("by_state").begin_object();
  for (std::size_t i = 0; i < preview.by_state.size(); ++i) {
    if (preview.by_state[i] > 0) out.key(name_of(static_cast<TaskState>(i))).number(preview.by_state[i]);
  }
  out.end_object();
  put_ids(out, "sample", preview.sample);
  out.end_object();
  return std::move(out).take();
}

Status read_json(std::string_view json, BulkPreview& out) {
  Reader in(json);
  std::string by_state = "{}";
  json::Unread counts{.text = by_state};
  in.need("verb", out.verb).need("matched", out.matched).need("exact", out.exact);
  in.need("by_state", counts).need("sample", out.sample);
  TRY(in.finish());
  Reader states(counts.text);
  for (std::size_t i = 0; i < out.by_state.size(); ++i) {
    states.get(name_of(static_cast<TaskState>(i)), out.by_state[i]);
  }
  return states.finish();
}

std::string to_json(const BulkOperation& operation) {
  Writer out;
  out.begin_object().key("id").string(operation.id.to_string());
  put_what(out, operation.order);
  out.key("owner");
  operation.order.owner ? out.string(*operation.order.owner) : out.null();
  out.key("state").string(name_of(operation.state)).key("total").number(operation.total);
  out.key("total_is_exact").boolean(operation.total_is_exact).key("done").number(operation.done);
  out.key("skipped").number(operation.skipped).key("failed").number(operation.failed);
  put_problems(out, operation.problems);
  out.key("started_at").string(format_time(operation.started_at));
  out.key("updated_at").string(format_time(operation.updated_at)).key("ended_at");
  operation.ended_at ? out.string(format_time(*operation.ended_at)) : out.null();
  out.key("stopped_by").string(operation.stopped.by).key("stopped_why").string(operation.stopped.why).end_object();
  return std::move(out).take();
}

Status read_json(std::string_view json, BulkOperation& out) {
  Reader in(json);
  in.need("id", out.id);
  const Status what = read_what(in, out.order);
  in.get("owner", out.order.owner).need("state", out.state).need("total", out.total);
  in.need("total_is_exact", out.total_is_exact).need("done", out.done).need("skipped", out.skipped);
  in.need("failed", out.failed).need("problems", out.problems).need("started_at", out.started_at);
  in.need("updated_at", out.updated_at).get("ended_at", out.ended_at);
  in.get("stopped_by", out.stopped.by).get("stopped_why", out.stopped.why);
  TRY(in.finish());
  return what;
}

}  // namespace drover
