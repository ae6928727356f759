#include "agents/agent_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "agents/own_turn.h"
#include "agents/preset.h"
#include "agents/run_record.h"
#include "base/json.h"
#include "base/text.h"

namespace drover::agents {
namespace {

constexpr std::size_t kSkippedBytesShown = 1'024;

bool is_hex_of(std::string_view text, std::string_view first_digits) {
  constexpr std::string_view kHex = "0123456789abcdefABCDEF";
  return text.size() >= 6 && text.starts_with("\\u") && (text[2] == 'd' || text[2] == 'D') &&
         first_digits.contains(text[3]) && kHex.contains(text[4]) && kHex.contains(text[5]);
}

// Half a character, which JavaScript writes where it cut a text in two, becomes U+FFFD.
std::string whole_characters(std::string_view line) {
  std::string whole;
  while (!line.empty()) {
    std::size_t bytes = line.starts_with("\\\\") ? 2 : 1;
    if (is_hex_of(line, "89abAB")) bytes = is_hex_of(line.substr(6), "cdefCDEF") ? 12 : 6;
    const bool is_half = bytes == 6 || is_hex_of(line, "cdefCDEF");
    if (is_half) bytes = 6;
    whole += is_half ? std::string_view("\\ufffd") : line.substr(0, bytes);
    line.remove_prefix(bytes);
  }
  return whole;
}

Result<json::Value> parse_line(std::string_view line) {
  auto parsed = json::parse(line, json::kEnvelopeDepthMax, json::kAnyKeys);
  if (parsed) return parsed;
  return json::parse(whole_characters(to_utf8(line)), json::kEnvelopeDepthMax, json::kAnyKeys);
}

}  // namespace

// Cuts a stream into lines, each at most kAgentLineBytesMax.
class AgentReader::Lines {
 public:
  template <class Take>
  void feed(std::string_view bytes, Take take) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      keep(bytes.substr(0, end));
      if (end == std::string_view::npos) return;
      finish(take);
      bytes.remove_prefix(end + 1);
    }
  }
  template <class Take>
  void finish(Take take) {
    if (line_.ends_with('\r')) line_.pop_back();
    if (!line_.empty()) take(std::string_view(line_), skipped_);
    line_.clear();
    skipped_ = 0;
  }

 private:
  void keep(std::string_view part) {
    if (skipped_ == 0 && line_.size() + part.size() <= kAgentLineBytesMax) {
      line_ += part;
      return;
    }
    skipped_ += part.size();
    if (line_.size() > kSkippedBytesShown) {
      skipped_ += line_.size() - kSkippedBytesShown;
      line_.resize(kSkippedBytesShown);
      line_.shrink_to_fit();
    }
  }

  std::string line_;
  std::size_t skipped_ = 0;  // bytes of a line that is too long, beyond what is kept of it
};

AgentReader::AgentReader(const Preset& preset, ReaderOptions options)
    : preset_(preset),
      record_(std::make_unique<RunRecord>(std::move(options))),
      out_(std::make_unique<Lines>()),
      err_(std::make_unique<Lines>()) {}

AgentReader::~AgentReader() = default;

void AgentReader::read_line(std::string_view line, std::size_t skipped) {
  if (has_ended_elsewhere_) return;
  if (skipped > 0) {
    record_->raw(fmt::format("{}… ({} more bytes)", line, skipped));
    return;
  }
  if (line.find_first_not_of(" \t") == std::string_view::npos) return;
  const auto parsed = parse_line(line);
  if (!parsed || parsed->as_object() == nullptr) {
    record_->raw(line);
    record_->diagnostic(line);
    return;
  }
  record_->line_understood();
  preset_.read_line(*parsed, *record_);
}

void AgentReader::read_error_line(std::string_view line) {
  record_->diagnostic(line);
  if (preset_.read_error_line != nullptr) preset_.read_error_line(line, *record_);
}

std::vector<AgentEvent> AgentReader::read_stdout(std::string_view bytes, Time now) {
  record_->set_now(now);
  out_->feed(bytes, [this](std::string_view line, std::size_t skipped) { read_line(line, skipped); });
  return record_->take_events();
}

std::vector<AgentEvent> AgentReader::read_stderr(std::string_view bytes, Time now) {
  record_->set_now(now);
  err_->feed(bytes, [this](std::string_view line, std::size_t /*skipped*/) { read_error_line(line); });
  return record_->take_events();
}

std::vector<AgentEvent> AgentReader::finish(Time now) {
  record_->set_now(now);
  out_->finish([this](std::string_view line, std::size_t skipped) { read_line(line, skipped); });
  err_->finish([this](std::string_view line, std::size_t /*skipped*/) { read_error_line(line); });
  return record_->take_events();
}

std::vector<AgentEvent> AgentReader::read_own_file(std::string_view lines, Time now) {
  record_->set_now(now);
  const OwnTurn turn = read_own_turn(preset_, lines);
  if (!turn.is_done) return {};
  for (const auto& [id, spent] : turn.requests) record_->request(id, spent);
  if (turn.session_total) record_->session_total({{.tokens = *turn.session_total}}, std::nullopt);
  record_->succeed(json::quote(turn.answer));
  has_ended_elsewhere_ = true;
  return record_->take_events();
}

const std::optional<std::string>& AgentReader::session_id() const {
  return record_->session_id();
}
bool AgentReader::is_settled() const {
  return record_->is_settled();
}
bool AgentReader::has_answer() const {
  return record_->has_answer();
}
const Usage& AgentReader::usage() const {
  return record_->usage();
}
Usage AgentReader::session_totals() const {
  return record_->session_totals();
}
const std::optional<Throttle>& AgentReader::throttle() const {
  return record_->throttle();
}
std::int64_t AgentReader::throttles() const {
  return record_->throttles();
}
const std::vector<std::string>& AgentReader::denied_tools() const {
  return record_->denied_tools();
}
std::string_view AgentReader::current_tool() const {
  return record_->current_tool();
}
std::int64_t AgentReader::lines_understood() const {
  return record_->lines_understood();
}

AgentOutcome AgentReader::conclude(const AgentExit& exit) const {
  return record_->conclude(preset_, exit);
}

std::optional<Millis> AgentOutcome::wait_from(Time now) const {
  return SaidWait{.retry_after = retry_after, .reset_at = reset_at}.from(now);
}

namespace {

template <class T, class Write>
void write_or_null(json::Writer& writer, std::string_view key, const std::optional<T>& value, Write write) {
  writer.key(key);
  if (value) {
    write(*value);
  } else {
    writer.null();
  }
}

}  // namespace

std::string outcome_json(const AgentOutcome& outcome) {
  json::Writer writer;
  const auto string = [&](std::string_view text) { writer.string(text); };
  const std::optional<std::string> message = outcome.completed ? std::nullopt : std::optional(outcome.message);
  writer.begin_object().key("outcome").string(outcome.completed ? "completed" : "failed");
  write_or_null(writer, "class", outcome.error_class, [&](ErrorClass value) { writer.string(name_of(value)); });
  write_or_null(writer, "message", message, string);
  write_or_null(writer, "retry_after_ms", outcome.retry_after, [&](Millis value) { writer.number(value.count()); });
  write_or_null(writer, "reset_at", outcome.reset_at, [&](Time value) { writer.string(format_time(value)); });
  write_or_null(writer, "result", outcome.result, [&](const JsonText& value) { writer.raw(value); });
  write_or_null(writer, "session_id", outcome.session_id, string);
  writer.key("usage").raw(usage_json(outcome.usage)).end_object();
  return std::move(writer).take();
}

}  // namespace drover::agents
