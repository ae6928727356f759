// What comes whole: JSON and the shapes in it, queries, the policy document, tokens.
#include <fmt/format.h>

#include "base/check.h"
#include "base/json.h"
#include "base/json_reader.h"
#include "base/json_schema.h"
#include "base/text.h"
#include "core/base_ref.h"
#include "core/budget.h"
#include "core/budget_json.h"
#include "core/dedupe.h"
#include "core/dump.h"
#include "core/filter_terms.h"
#include "core/fingerprint.h"
#include "core/gate_json.h"
#include "core/ledger.h"
#include "core/parent_template.h"
#include "core/provider_ramp.h"
#include "core/question_json.h"
#include "core/session_record.h"
#include "core/task_json.h"
#include "core/usage.h"
#include "engine/token_document.h"
#include "fuzz/targets.h"
#include "net/url.h"
#include "policy/document.h"
#include "remote/server_url.h"
#include "server/access.h"
#include "server/frontage.h"
#include "server/pages.h"
#include "store/page_cursor.h"
#include "store/redis/question_text.h"
#include "wire/filter_query.h"
#include "wire/read.h"
#include "wire/write.h"
#include "workspace/agent_refs.h"

namespace drover::fuzz {
namespace {

// Splits the input at the first NUL.
std::pair<std::string_view, std::string_view> two_of(std::string_view input) {
  const std::size_t at = input.find('\0');
  if (at == std::string_view::npos) return {input, {}};
  return {input.substr(0, at), input.substr(at + 1)};
}

// What is read from a document and written again reads the same.
template <class T>
void read_back(std::string_view input) {
  T first{};
  if (!read_json(input, first)) return;
  const std::string written = to_json(first);
  T second{};
  const Status read = read_json(written, second);
  CHECK_MSG(read.has_value(), written);
  CHECK_MSG(to_json(second) == written, written);
}

}  // namespace

// A text and the result of every parent. What is filled in is not looked at again, and the bound holds.
void feed_parent_template(std::string_view input) {
  const auto [text, result] = two_of(input);
  constexpr std::size_t kBytesMax = 10'000;
  const auto compact = json::compact(result);
  const ParentLookup lookup = [&](std::string_view name) -> Result<JsonText> {
    if (name == "gone" || !compact) return fail(ErrorCode::kInvalidPayload, "there is none");
    return *compact;
  };
  const auto filled = fill_text(text, lookup, kBytesMax);
  if (!has_parent_template(text)) CHECK(filled == std::string(text));
  if (!filled) CHECK(filled.error().code == ErrorCode::kInvalidPayload);
  const auto document = json::compact(text);
  if (!document) return;
  const auto json = fill_json(*document, lookup, kBytesMax);
  if (json) CHECK(json->size() <= kBytesMax && json::parse(*json).has_value());
  if (!json) CHECK(json.error().code == ErrorCode::kInvalidPayload);
}

void feed_json(std::string_view input) {
  const auto value = json::parse(input);
  const auto compact = json::compact(input);
  CHECK(value.has_value() == compact.has_value());
  if (!value || !compact) return;
  CHECK(is_utf8(input));
  CHECK(json::compact(*compact) == *compact);
  CHECK(json::parse(*compact) == *value);
  CHECK(json::parse(json::dump(*value)) == *value);
  CHECK(json::parse(json::dump_pretty(*value)) == *value);
  const JsonText merged = merge_patch(*compact, *compact);
  CHECK_MSG(json::parse(merged).has_value(), merged);
}

void feed_json_schema(std::string_view input) {
  const auto [schema_text, value_text] = two_of(input);
  const auto document = json::parse(schema_text);
  if (!document) return;
  const auto schema = json::Schema::compile(*document);
  if (!schema) return;
  const auto value = json::parse(value_text.empty() ? schema_text : value_text);
  if (!value) return;
  if (const auto error = schema->validate(*value)) static_cast<void>(to_string(*error));
}

void feed_task(std::string_view input) {
  if (const auto spec = parse_task_spec(input)) {
    const std::string written = to_json(*spec);
    const auto again = parse_task_spec(std::string_view(written));
    CHECK_MSG(again.has_value(), written);
    CHECK_MSG(*again == *spec, written);
  }
  read_back<ClaimRequest>(input);
  read_back<Settlement>(input);
  read_back<RetryOrder>(input);
  read_back<EditOrder>(input);
  read_back<SessionInfo>(input);
  read_back<SessionStart>(input);
  read_back<ProviderState>(input);
  if (const auto session = parse_session_record(input)) {
    const std::string written = session_record_json(*session);
    const auto again = parse_session_record(written);
    CHECK_MSG(again && *again == *session, written);
  }
  EditOrder patch;
  static_cast<void>(read_merge_patch(input, patch));
  Task task;
  static_cast<void>(read_json(input, task));
  Event event;
  static_cast<void>(read_json(input, event));
  WorkerInfo worker;
  static_cast<void>(read_json(input, worker));
  StoreState store;
  if (read_json(input, store)) static_cast<void>(check_extent(store.extent));
}

void feed_filter(std::string_view input) {
  const auto target = parse_target(fmt::format("/v1/tasks?{}", input));
  if (!target) return;
  const auto filter = filter_of_query(target->query, {"limit", "cursor"});
  if (!filter) return;
  const auto query = query_of_filter(*filter);
  const auto again = filter_of_query(query, {});
  CHECK(again.has_value());
  CHECK(query_of_filter(*again) == query);
}

// What people type: it is refused with a word on the term, or it is a filter that has the same terms again.
void feed_query(std::string_view input) {
  TaskFilter filter;
  const Status added = add_task_query(filter, input, Time(Millis(1'700'000'000'000)));
  if (!added) {
    CHECK(added.error().code == ErrorCode::kInvalidArgument && !added.error().message.empty());
    return;
  }
  TaskFilter again;
  for (const auto& [name, value] : filter_terms(filter)) {
    const Status term = add_filter_term(again, name, value, std::nullopt);
    CHECK_MSG(term.has_value(), name);
  }
  CHECK(filter_terms(again) == filter_terms(filter));
}

// Cursors, times, durations, retry policies, ids, addresses: short texts that people and programs hand in.
void feed_values(std::string_view input) {
  const std::string text(input);
  for (const TaskOrder order : {TaskOrder::kNewestFirst, TaskOrder::kOldestFirst}) {
    const auto cursor = parse_page_cursor(text, order);
    if (cursor) CHECK(parse_page_cursor(std::to_string(*cursor), order) == *cursor);
  }
  if (const auto time = parse_time(input)) CHECK(parse_time(format_time(*time)) == *time);
  if (const auto duration = parse_duration(input)) CHECK(parse_duration(format_duration(*duration)) == *duration);
  if (const auto policy = parse_retry_policy(input)) {
    const auto again = parse_retry_policy(to_string(*policy));
    CHECK(again.has_value() && to_string(*again) == to_string(*policy));
  }
  if (const auto id = TaskId::parse(input)) CHECK(TaskId::parse(id->to_string()) == *id);
  if (const auto lease = LeaseId::parse(input)) CHECK(LeaseId::parse(lease->to_string()) == *lease);
  if (const auto decoded = percent_decode(input)) CHECK(percent_decode(percent_encode(*decoded)) == *decoded);
  static_cast<void>(parse_priority(input));
  static_cast<void>(parse_server_url(text));
  CHECK(is_utf8(to_utf8(input)));
  CHECK(is_utf8(quoted_excerpt(input)));
}

// What a worker, or a program at its door, says that it used.
void feed_usage(std::string_view input) {
  Said<Usage> said;
  Usage stored;
  const bool is_known = read_json(input, said).has_value();
  const bool is_read = read_json(input, stored).has_value();
  if (is_known) CHECK(is_read && said.what == stored);
  if (!is_read) return;
  Usage again;
  CHECK(read_json(usage_json(stored), again) && again == stored);
  const Usage bounded = within_bounds(stored);
  CHECK(most_of(bounded, bounded) == bounded);
  UsageAmounts booked_in_all;
  for (const LedgerEntry& entry : booked({}, {}, bounded)) add(booked_in_all, entry.amounts);
  CHECK(booked_in_all == amounts_of(bounded));
}

// Budgets of tasks and runs, what is spent of gates, amounts that people type.
void feed_budget(std::string_view input) {
  if (const auto budget = parse_task_budget(input)) {
    const std::string written = task_budget_json(*budget);
    const auto again = parse_task_budget(written);
    CHECK_MSG(again && *again == *budget, written);
  }
  const RunBudget run = run_budget_of(JsonText(input));
  CHECK(run_budget_of(run_budget_json(run)) == run);
  for (const BudgetUnit unit : kBudgetUnits) {
    const auto amount = parse_amount(unit, input);
    if (!amount) continue;
    CHECK(*amount >= 0 && *amount <= kBudgetMax);
    static_cast<void>(format_amount(unit, *amount));
  }
  if (const auto entry = spend_from_dump(JsonText(input))) CHECK(spend_from_dump(to_dump(*entry)) == *entry);
  if (const auto gate = gate_from_json(input)) {
    const auto again = gate_from_json(gate_to_json(*gate));
    CHECK(again && gate_to_json(*again) == gate_to_json(*gate));
  }
  read_back<BudgetStatus>(input);
  read_back<ReportAnswer>(input);
}

// As stores and dumps keep them, and as agents ask.
void feed_question(std::string_view input) {
  read_back<Question>(input);
  QuestionSpec spec;
  static_cast<void>(read_json(input, spec));
  if (const auto record = redis::parse_question(input)) static_cast<void>(redis::question_head(record->question));
}

void feed_config(std::string_view input) {
  const auto strict = parse_policy(input);
  const auto lenient = read_stored_policy(input);
  if (strict) CHECK_MSG(lenient && lenient->policy == *strict && lenient->ignored.empty(), input);
  const auto document = parse_document(input, "drover.yaml");
  if (!document) return;
  const auto stored = parse_policy(document->shared);
  CHECK_MSG(stored.has_value(), document->shared);
  CHECK_MSG(*stored == document->policy, document->shared);
}

void feed_fingerprint(std::string_view input) {
  const std::string pattern = pattern_of(input);
  CHECK(pattern.size() <= kPatternBytesMax && is_utf8(pattern));
  CHECK_MSG(pattern_of(pattern) == pattern, pattern);
}

// The base that a task names, and packed-refs as an agent may leave it.
void feed_git_refs(std::string_view input) {
  if (const auto refs = refs_of_base(input)) {
    for (const std::string& ref : *refs) {
      CHECK_MSG(ref == "HEAD" || ref.starts_with("refs/"), ref);
      CHECK_MSG(!ref.starts_with("refs/drover/") && !ref.starts_with("refs/heads/drover/"), ref);
      CHECK_MSG(ref.find_first_of(" ~^:?*[\\\n\r\t") == std::string::npos && !ref.contains(".."), ref);
    }
  }
  for (const auto& ref : workspace::read_packed_refs(std::string(input)))
    CHECK_MSG(ref.object.size() == 40 || ref.object.size() == 64, ref.object);
}

namespace {

// The same text as a cookie, as a secret, as a URL and as a list of what a browser accepts.
void feed_signin(std::string_view text, const TokenDocument& document) {
  const HttpRequest request{
      .method = "GET",
      .target = "/",
      .body = {},
      .headers = {{"host", "h:1"}, {"cookie", std::string(text)}, {"drover-signin", std::string(text)}}};
  const std::string credentials = server::credentials_of(request);
  if (const auto id = id_in_signin(credentials)) CHECK(credentials.find(*id) != std::string::npos);
  const auto signed_in = find_signed_in(document, credentials, Time{});
  CHECK(signed_in.has_value() || signed_in.error().code == ErrorCode::kUnauthorised);
  static_cast<void>(server::accepts(text, "text/html"));
  if (const auto url = server::parse_public_url(text)) {
    const auto again = server::parse_public_url(fmt::format("{}://{}{}", url->scheme, url->host, url->path));
    CHECK(again == url);
  }
}

}  // namespace

void feed_token(std::string_view input) {
  const auto [header, stored] = two_of(input);
  const HttpRequest request{
      .method = "GET", .target = "/", .body = {}, .headers = {{"authorization", std::string(header)}}};
  const std::string_view token = server::bearer_token(request);
  if (const auto id = id_in_token(token)) CHECK(token.find(*id) != std::string_view::npos);
  auto document = parse_token_document(1, stored);
  if (!document) {
    document = TokenDocument{};
  } else {
    CHECK(parse_token_document(1, to_json(*document)) == *document);
  }
  const auto principal = find_principal(*document, token, Time{});
  CHECK(principal.has_value() || principal.error().code == ErrorCode::kUnauthorised);
  feed_signin(header, *document);
}

}  // namespace drover::fuzz
