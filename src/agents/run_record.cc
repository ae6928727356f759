#include "agents/run_record.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>

#include "agents/fields.h"
#include "agents/preset.h"
#include "base/text.h"
#include "core/error_class.h"
#include "core/spec_check.h"

namespace drover::agents {
namespace {

constexpr std::size_t kAnswerBytesMax = kAgentLineBytesMax;
constexpr std::size_t kDeniedToolsMax = 64;
constexpr std::size_t kOpenCallsMax = 256;
constexpr std::size_t kRequestsMax = 256;
constexpr std::size_t kDiagnosticsBytesMax = 64 * 1024;
constexpr std::size_t kMessageBytesMax = 4 * 1024;
constexpr std::size_t kNameBytesMax = 256;
constexpr double kDollarsMax = 1e9;

// How much of the text fits, in whole characters.
std::size_t fitting_bytes(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text.size();
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return end;
}

std::string cut(std::string_view text, std::size_t bytes_max) {
  const std::size_t size = fitting_bytes(text, bytes_max);
  return to_utf8(text.substr(0, size)) + (size < text.size() ? "…" : "");
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::optional<MicroDollars> micros(std::optional<double> dollars) {
  if (!dollars || !(*dollars >= 0 && *dollars <= kDollarsMax)) return std::nullopt;
  return std::llround(*dollars * 1e6);
}

void raise(TokenCounts& known, const TokenCounts& told) {
  known = {.input = std::max(known.input, told.input),
           .cached_input = std::max(known.cached_input, told.cached_input),
           .cache_write = std::max(known.cache_write, told.cache_write),
           .output = std::max(known.output, told.output),
           .reasoning = std::max(known.reasoning, told.reasoning)};
}

// Signals that shells and runtimes turn into exit codes.
bool is_signal_code(int code) {
  return code == 130 || code == 137 || code == 143;
}

std::string how_it_ended(const AgentExit& exit) {
  return exit.signal ? fmt::format("signal {}", *exit.signal) : fmt::format("exit code {}", exit.code);
}

}  // namespace

AgentEvent& RunRecord::add(AgentEventKind kind, std::string_view text) {
  const std::size_t size = fitting_bytes(text, kEventTextBytesMax);
  return events_.emplace_back(AgentEvent{.kind = kind,
                                         .text = to_utf8(text.substr(0, size)),
                                         .left_out_bytes = static_cast<std::int64_t>(text.size() - size)});
}

void RunRecord::session(std::string_view id) {
  if (session_id_ == id || !check_word(id)) return;
  session_id_ = id;
  add(AgentEventKind::kSession, id);
}

void RunRecord::model_acts() {
  has_answer_ = true;
  spoke_since_end_ = true;
  if (in_turn_) return;
  in_turn_ = true;
  ++turns_seen_;
  count_usage();
}

void RunRecord::say(std::string_view key, std::string_view words) {
  model_acts();
  if (!answer_is_open_ || answer_key_ != key) {
    answer_.clear();
    answer_is_cut_ = false;
  }
  answer_is_open_ = true;
  answer_key_ = key;
  if (answer_.size() + words.size() <= kAnswerBytesMax) {
    answer_ += words;
  } else {
    answer_is_cut_ = true;
  }
  add(AgentEventKind::kText, words);
}

void RunRecord::reason(std::string_view thoughts) {
  model_acts();
  if (!thoughts.empty()) add(AgentEventKind::kReasoning, thoughts);
}

void RunRecord::add_call(AgentEventKind kind, std::string_view call_id, std::string_view name,
                         const json::Value& input) {
  OpenCall call{.id = cut(call_id, kNameBytesMax), .tool = cut(name, kNameBytesMax)};
  if (!call.id.empty() && std::ranges::find(open_calls_, call.id, &OpenCall::id) != open_calls_.end())
    return;  // more of the same
  model_acts();
  answer_is_open_ = false;
  ++tool_calls_;
  AgentEvent& event = add(kind, as_text(input));
  event.tool = call.tool;
  event.call_id = call.id;
  if (open_calls_.size() == kOpenCallsMax) open_calls_.erase(open_calls_.begin());
  open_calls_.push_back(std::move(call));
  count_usage();
}

void RunRecord::call_tool(std::string_view call_id, std::string_view name, const json::Value& input) {
  add_call(AgentEventKind::kToolCall, call_id, name, input);
}

void RunRecord::ask(std::string_view call_id, std::string_view tool, const json::Value& question) {
  add_call(AgentEventKind::kQuestion, call_id, tool, question);
}

void RunRecord::tool_answered(std::string_view call_id, std::string_view output, bool failed) {
  in_turn_ = false;
  answer_is_open_ = false;
  AgentEvent& event = add(AgentEventKind::kToolResult, output);
  event.call_id = cut(call_id, kNameBytesMax);
  event.failed = failed;
  const auto call = std::ranges::find(open_calls_, event.call_id, &OpenCall::id);
  if (call == open_calls_.end()) return;
  event.tool = call->tool;
  open_calls_.erase(call);
}

void RunRecord::deny_tool(std::string_view name) {
  if (denied_tools_.size() < kDeniedToolsMax) denied_tools_.push_back(cut(name, kNameBytesMax));
}

void RunRecord::request(std::string_view said_key, const Spent& spent) {
  // One without a name is no other's repetition.
  const std::string key = said_key.empty() ? fmt::format("request {}", turns_requested_) : std::string(said_key);
  auto known = requests_.find(key);
  if (known == requests_.end()) {
    known = requests_.emplace(key, Spent{.model = spent.model}).first;
    request_order_.emplace_back(key);
    ++turns_requested_;
  }
  raise(known->second.tokens, spent.tokens);
  if (spent.dollars) known->second.dollars = std::max(known->second.dollars.value_or(0), *spent.dollars);
  while (requests_.size() > kRequestsMax) {
    const auto oldest = requests_.extract(request_order_.front());
    request_order_.pop_front();
    const Spent& old = oldest.mapped();
    Spent& sum = folded_.try_emplace(old.model, Spent{.model = old.model}).first->second;
    sum.tokens = (Usage{.tokens = sum.tokens} + Usage{.tokens = old.tokens}).tokens;
    if (old.dollars) sum.dollars = sum.dollars.value_or(0) + *old.dollars;
  }
  count_usage();
}

Usage RunRecord::sum_of(const std::vector<Spent>& spent, std::optional<double> dollars) const {
  using Dollars = std::optional<double>;  // as far as they are known
  const auto add_to = [](auto& used, Dollars& cost, const Spent& item) {
    used.tokens = (Usage{.tokens = used.tokens} + Usage{.tokens = item.tokens}).tokens;
    if (item.dollars) cost = cost.value_or(0) + *item.dollars;
    if (!item.dollars) used.unpriced_tokens = sum(used.unpriced_tokens, token_count(item.tokens));
  };
  Usage total;
  Dollars total_cost;
  std::map<std::string, Dollars, std::less<>> costs;
  for (const Spent& item : spent) {
    const std::string& model = item.model.empty() ? options_.model : item.model;
    add_to(total, total_cost, item);
    if (check_word(model)) add_to(total.models[model], costs[model], item);
  }
  if (dollars) total.unpriced_tokens = 0;
  total.cost = micros(dollars ? dollars : total_cost);
  if (total.cost) total.basis = CostBasis::kReported;
  if (!total.cost) total.unpriced_tokens = 0;
  for (auto& [model, used] : total.models) {
    if (total.cost) used.cost = micros(costs[model]);
    if (!used.cost) used.unpriced_tokens = 0;
  }
  return total;
}

Usage RunRecord::sum_of_requests() const {
  std::vector<Spent> all;
  for (const auto& [model, spent] : folded_) all.push_back(spent);
  for (const auto& [key, spent] : requests_) all.push_back(spent);
  return sum_of(all, std::nullopt);
}

void RunRecord::count_usage() {
  usage_ = settled_ + sum_of_requests();
  usage_.turns = turns_requested_ > 0 ? turns_requested_ : turns_seen_;
  usage_.tool_calls = tool_calls_;
}

void RunRecord::replace_requests(const Usage& settled) {
  settled_ = settled;
  requests_.clear();
  request_order_.clear();
  folded_.clear();
  count_usage();
  add(AgentEventKind::kUsage, {}).usage = usage_;
}

void RunRecord::settle_requests(const std::vector<Spent>& spent, std::optional<double> dollars) {
  replace_requests(settled_ + sum_of(spent, dollars));
}

void RunRecord::session_total(const std::vector<Spent>& spent, std::optional<double> dollars) {
  keep_session_total(spent, dollars);
  replace_requests(used_since(session_totals_, options_.session_totals));
}

void RunRecord::keep_session_total(const std::vector<Spent>& spent, std::optional<double> dollars) {
  session_totals_ = sum_of(spent, dollars);
  has_session_totals_ = true;
}

void RunRecord::tool_calls_at_least(std::int64_t count) {
  tool_calls_ = std::max(tool_calls_, count);
  count_usage();
}

void RunRecord::find_wait(Trouble& trouble) const {
  const SaidWait said = wait_in_text(trouble.text, options_.clock);
  Trouble with_text = trouble;
  if (!with_text.wait.retry_after) with_text.wait.retry_after = said.retry_after;
  if (!with_text.wait.reset_at) with_text.wait.reset_at = said.reset_at;
  const ErrorClass found = class_of(with_text);
  if (!is_throttle(found)) return;  // other errors may speak of hours, too
  trouble = with_text;
  if (found == ErrorClass::kOverloaded || !limit_until_) return;
  trouble.wait.reset_at = limit_until_;  // to the second, where the text has minutes
  trouble.known = ErrorClass::kQuotaExhausted;
}

void RunRecord::note_throttle(const Trouble& trouble, ErrorClass error_class) {
  if (!is_throttle(error_class)) return;
  ++throttles_;
  throttle_ = {.error_class = error_class, .retry_after = trouble.wait.retry_after, .reset_at = trouble.wait.reset_at};
}

void RunRecord::retrying(Trouble why, std::optional<Millis> delay) {
  find_wait(why);
  const ErrorClass error_class = class_of(why);
  note_throttle(why, error_class);
  AgentEvent& event = add(AgentEventKind::kRetry, why.text);
  event.error_class = error_class;
  event.status = why.status;
  event.delay = delay;
}

void RunRecord::trouble(Trouble what) {
  find_wait(what);
  AgentEvent& event = add(AgentEventKind::kError, what.text);
  event.error_class = class_of(what);
  event.status = what.status;
  last_trouble_ = std::move(what);
}

void RunRecord::limit_until(Time reset_at) {
  limit_until_ = reset_at;
  note_throttle({.wait = {.reset_at = reset_at}}, ErrorClass::kQuotaExhausted);
}

bool RunRecord::is_trouble(std::string_view text) const {
  return last_trouble_ && last_trouble_->text == text && class_of(*last_trouble_) != ErrorClass::kAgentError;
}

void RunRecord::succeed(JsonText result) {
  end_ = End::kGood;
  spoke_since_end_ = false;
  result_ = std::move(result);
  failure_.reset();
  add(AgentEventKind::kResult, result_);
}

void RunRecord::succeed_with_last_answer() {
  if (answer_is_cut_) {
    fail({.text = fmt::format("the answer has more than {} bytes", kAnswerBytesMax),
          .known = ErrorClass::kResultTooLarge});
  } else {
    succeed(json::quote(answer_));
  }
}

void RunRecord::fail(Trouble why) {
  if (last_trouble_ && last_trouble_->text == why.text) why.add_type(last_trouble_->type);
  find_wait(why);
  end_ = End::kBad;
  spoke_since_end_ = false;
  AgentEvent& event = add(AgentEventKind::kResult, why.text);
  event.failed = true;
  event.error_class = class_of(why);
  event.status = why.status;
  failure_ = std::move(why);
}

void RunRecord::reopen() {
  end_ = End::kNone;
  failure_.reset();
}

void RunRecord::raw(std::string_view line) {
  add(AgentEventKind::kRaw, line);
}

void RunRecord::diagnostic(std::string_view line) {
  static const re2::RE2 kError(R"((?i)^\s*(?:\x1b\[[\d;]*m)*(?:fatal |api )?(?:error|fatal|panic|exception)\b)");
  line = trimmed(line);
  if (line.empty()) return;
  const std::string text = cut(line, kMessageBytesMax);
  if (diagnostics_.size() + text.size() < kDiagnosticsBytesMax) diagnostics_ += text + '\n';
  const bool is_error = re2::RE2::PartialMatch(text, kError);
  if (diagnosis_is_error_) return;
  diagnosis_is_error_ = is_error;
  diagnosis_ = text;
}

// Of a run that told of no error by itself.
Trouble RunRecord::why_ended(const Preset& preset, const AgentExit& exit) const {
  Trouble why;
  const std::string after = diagnosis_.empty() ? "" : ": " + diagnosis_;
  const auto meaning = std::ranges::find(preset.exits, exit.code, &ExitMeaning::code);
  if (exit.signal || is_signal_code(exit.code)) {
    why.known = ErrorClass::kKilled;
    why.text = fmt::format("{} before the agent reported a result{}", how_it_ended(exit), after);
  } else if (exit.code == 0) {
    why.text = fmt::format("exit code 0, but the agent reported no result{}", after);
  } else {
    why.text = how_it_ended(exit) + after;
    why.known = meaning != preset.exits.end() ? meaning->error_class : class_of_stranger(diagnosis_);
  }
  return why;
}

Trouble RunRecord::why_failed(const Preset& preset, const AgentExit& exit) const {
  if (failure_) return *failure_;
  if (end_ == End::kGood) {
    return {.text = fmt::format("the agent reported success, but ended with {}", how_it_ended(exit)),
            .known = exit.signal || is_signal_code(exit.code) ? ErrorClass::kKilled : ErrorClass::kAgentError};
  }
  if (last_trouble_ && !exit.signal) return *last_trouble_;
  return why_ended(preset, exit);
}

AgentOutcome RunRecord::conclude(const Preset& preset, const AgentExit& exit) const {
  AgentOutcome outcome{.session_id = session_id_, .usage = usage_, .session_totals = session_totals()};
  const bool left_well = exit.stopped_after_result || (!exit.signal && exit.code == 0);
  if (end_ == End::kGood && left_well) {
    outcome.completed = true;
    outcome.result = result_;
    return outcome;
  }
  const Trouble why = why_failed(preset, exit);
  outcome.error_class = class_of(why);
  outcome.message = cut(trimmed(why.text), kMessageBytesMax);
  if (outcome.message.empty()) outcome.message = "the agent failed without saying why";
  outcome.retry_after = why.wait.retry_after;
  outcome.reset_at = why.wait.reset_at;
  outcome.session_lost = re2::RE2::PartialMatch(diagnostics_ + why.text, preset.lost_session);
  return outcome;
}

}  // namespace drover::agents
