#include "agents/trouble.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "agents/fields.h"

namespace drover::agents {
namespace {

using re2::RE2;

// A row fits if its pattern is found in the machine's words or in the text, or the status is one of its own. The first
// row that fits decides: what is rarer and more exact comes first.
struct Row {
  ErrorClass error_class;
  RE2 pattern;
  std::initializer_list<int> statuses;
};

const auto& rows() {
  static const std::array<Row, 8> kRows{{
      {ErrorClass::kMaxTurns,
       RE2(R"((?i)error_max_turns|\bmax_(?:steps|turns)\b|TurnLimited|max(?:imum)? (?:session |number of )?turns)"),
       {}},
      {ErrorClass::kContextTooLong,
       RE2(R"((?i)context_length|context_window|ContextOverflow|request_too_large|context[ -]?(?:length|window|limit)|maximum context|)"
           R"(prompt is too long|input is too long|input token count|too many tokens in|ran out of room)"),
       {413}},
      {ErrorClass::kQuotaExhausted,
       RE2(R"((?i)usage_limit|TerminalQuota|quota_exhausted|usage limit|hit your (?:[\w-]+ )?limit|out of (?:extra )?usage|)"
           R"((?:daily|weekly|monthly|hourly|5-hour|session|opus|sonnet)(?: usage)? (?:quota|limit)|quota will reset|per ?day)"),
       {}},
      {ErrorClass::kBilling,
       RE2(R"((?i)billing_error|insufficient_(?:quota|credits?|funds|balance)|payment_required|credit balance|out of credits|)"
           R"(credits (?:are|have been) (?:depleted|exhausted)|plan and billing|spend cap|spending limit|payment required|)"
           R"(insufficient (?:credits?|funds|balance|quota)|billing (?:hard )?limit|upgrade to plus)"),
       {402}},
      {ErrorClass::kOverloaded,
       RE2(R"((?i)overloaded|\bUNAVAILABLE\b|capacity_exhausted|slow_down|at capacity|exhausted your capacity|capacity exceeded|)"
           R"(high demand|service unavailable)"),
       {503, 529}},
      {ErrorClass::kRateLimited,
       RE2(R"((?i)rate[ _-]?limit|RetryableQuota|RESOURCE_EXHAUSTED|too[ _]?many[ _]?requests|resource has been exhausted|)"
           R"(exceeded your current quota|quota exceeded|quota increase|limit reached|throttl|rate exceeded|request ?limit ?exceeded)"),
       {429}},
      {ErrorClass::kAuth,
       RE2(R"((?i)authentication|unauthenticated|unauthori[sz]ed|permission_(?:error|denied)|invalid_api_key|ProviderAuth|api_key_invalid|)"
           R"((?:invalid|incorrect|missing|no) (?:[\w-]+ )?api[ _-]key|api[ _-]key (?:is )?(?:not valid|invalid|missing|not found)|)"
           R"(not logged in|run /login|(?:log|sign) ?in again|(?:token (?:has )?|credentials )expired|expired ?token|auth method|)"
           R"(_API_KEY\b|bad credentials|credentials were not found|locate credentials|auth login|docker login|denied \(publickey)"),
       {401, 403}},
      {ErrorClass::kInvalid,
       RE2(R"((?i)model_?not_?found|unknown model|model [^\n]{1,80}(?:not found|does not exist|not supported)|issue with the selected model)"),
       {}},
  }};
  return kRows;
}

// "unexpected status 401 Unauthorized", "last status: 429", "API Error: 500 …", "(429)", "code: 503", "[503 Service …"
std::optional<int> status_in(std::string_view text) {
  static const RE2 kStatus(
      R"((?i)(?:status(?: code)?|code|API Error|HTTP(?:/\d(?:\.\d)?)?|error|failed)["']?[:= ]+([45]\d\d)\b|\(([45]\d\d)\)|\[([45]\d\d)\b)");
  std::array<std::string, 3> found;
  const re2::StringPiece piece(text.data(), text.size());
  if (!RE2::PartialMatch(piece, kStatus, &found[0], &found[1], &found[2])) return std::nullopt;
  return std::stoi(found[0] + found[1] + found[2]);
}

ErrorClass from_table(const std::string& words, std::optional<int> status) {
  for (const Row& row : rows()) {
    if (RE2::PartialMatch(words, row.pattern)) return row.error_class;
    if (status && std::ranges::find(row.statuses, *status) != row.statuses.end()) return row.error_class;
  }
  return ErrorClass::kAgentError;
}

// The first of these members that is there.
const json::Value& first_of(const json::Value& object, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const json::Value& child = child_of(object, name); !child.is_null()) return child;
  }
  return child_of(object, {});
}

void read_waits(const json::Value& error, const WallClock& clock, SaidWait& wait) {
  const json::Value& seconds =
      first_of(error, {"retry_after", "retryAfter", "retry_after_seconds", "resets_in_seconds"});
  const json::Value& millis = first_of(error, {"retry_after_ms", "retryAfterMs", "retryDelayMs"});
  const json::Value& reset = first_of(error, {"resetsAt", "resets_at", "reset_at", "resetAt"});
  if (!millis.is_null()) {
    const SaidWait said = wait_in_header(as_text(millis), clock);
    if (said.retry_after) wait.retry_after = *said.retry_after / 1'000;
  } else if (!seconds.is_null()) {
    wait = wait_in_header(as_text(seconds), clock);
  }
  if (const auto epoch = reset.as_int()) wait.reset_at = epoch_time(*epoch);
  if (const std::string* text = reset.as_string()) {
    if (const auto time = parse_time(*text)) wait.reset_at = *time;
  }
}

const json::Value* deeper(const json::Value& error) {
  const json::Value& inner = first_of(error, {"error", "message", "detail"});
  return inner.is_null() ? nullptr : &inner;
}

}  // namespace

Trouble trouble_of(std::string_view text) {
  Trouble trouble{.text = innermost_message(text)};
  if (trouble.text != text) trouble.add_type(text);  // there may be more in the JSON than its message
  return trouble;
}

void Trouble::add_type(std::string_view word) {
  if (word.empty()) return;
  if (!type.empty()) type += ' ';
  type += word;
}

ErrorClass class_of(const Trouble& trouble) {
  if (trouble.known) return *trouble.known;
  const std::string words = trouble.type + '\n' + plain_text(trouble.text);
  const ErrorClass found = from_table(words, trouble.status ? trouble.status : status_in(words));
  // A rate is over in a moment; what names the hour of its end is a quota.
  const bool has_hour = trouble.wait.reset_at && !trouble.wait.retry_after;
  if (found == ErrorClass::kRateLimited && has_hour) return ErrorClass::kQuotaExhausted;
  // Who says when to come back asks for patience, not for money.
  return found == ErrorClass::kBilling && trouble.wait.retry_after ? ErrorClass::kRateLimited : found;
}

ErrorClass class_of_stranger(std::string_view text) {
  const ErrorClass found = from_table(plain_text(text), std::nullopt);
  return found == ErrorClass::kAuth || found == ErrorClass::kInvalid ? found : ErrorClass::kAgentError;
}

void read_members(const json::Value& error, const WallClock& clock, Trouble& trouble) {
  for (const std::string_view name : {"type", "name", "code", "status", "error_type", "api_error_type", "error",
                                      "reason", "stop_reason", "subtype"}) {
    trouble.add_type(text_of(error, name));
  }
  for (const std::string_view name :
       {"api_error_status", "error_status", "statusCode", "status_code", "status", "code"}) {
    const auto status = int_of(error, name);
    if (!trouble.status && status && *status >= 400 && *status <= 599) trouble.status = static_cast<int>(*status);
  }
  read_waits(error, clock, trouble.wait);
}

std::string innermost_message(std::string_view text) {
  constexpr int kLevelsMax = 8;
  std::string message(text);
  for (int level = 0; level < kLevelsMax && message.starts_with('{'); ++level) {
    const auto parsed = json::parse(message);
    const json::Value* inner = parsed ? deeper(*parsed) : nullptr;
    if (inner == nullptr) break;
    message = as_text(*inner);
  }
  return message;
}

}  // namespace drover::agents
