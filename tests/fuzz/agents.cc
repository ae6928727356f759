// What agents print, and the times in their errors.
#include <algorithm>

#include "agents/agent_reader.h"
#include "agents/output_trouble.h"
#include "agents/preset.h"
#include "agents/trouble.h"
#include "base/check.h"
#include "base/text.h"
#include "base/time_zone.h"
#include "core/error_class.h"
#include "fuzz/targets.h"
#include "support/agent_success.h"

namespace drover::fuzz {
namespace {

const Time kNow = *parse_time("2026-11-15T17:00:00Z");

agents::AgentOutcome read_output(const agents::Preset& preset, std::string_view bytes, std::size_t piece) {
  agents::AgentReader reader(preset, {.clock = {.now = kNow}});
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    for (const agents::AgentEvent& event : reader.read_stdout(bytes.substr(0, piece), kNow)) {
      CHECK(json::parse(agents::event_json(event)));
    }
  }
  static_cast<void>(reader.finish(kNow));
  return reader.conclude({});
}

}  // namespace

// The first byte says which agent it is and how large the pieces are; the rest is its stdout.
void feed_agent(std::string_view input) {
  if (input.empty()) return;
  const auto all = agents::presets();
  const auto choice = static_cast<unsigned char>(input.front());
  const agents::Preset& preset = all[choice % all.size()];
  input.remove_prefix(1);
  const agents::AgentOutcome whole = read_output(preset, input, std::max<std::size_t>(input.size(), 1));
  CHECK(!whole.completed || has_success_event(preset.name, input));
  CHECK(whole.completed == whole.result.has_value() && whole.completed != whole.error_class.has_value());
  const std::string json = agents::outcome_json(whole);
  CHECK(json::parse(json));
  Usage usage;
  CHECK(read_json(usage_json(whole.usage), usage) && usage == whole.usage);
  CHECK_MSG(agents::outcome_json(read_output(preset, input, 1 + choice / all.size())) == json,
            "another cut of the stream was read otherwise");
}

// The same for the file in which the agent keeps its session.
void feed_agent_file(std::string_view input) {
  if (input.empty()) return;
  const auto all = agents::presets();
  const agents::Preset& preset = all[static_cast<unsigned char>(input.front()) % all.size()];
  agents::AgentReader reader(preset, {.clock = {.now = kNow}});
  const auto events = reader.read_own_file(input.substr(1), kNow);
  for (const agents::AgentEvent& event : events) CHECK(json::parse(agents::event_json(event)));
  CHECK(reader.is_settled() == !events.empty());
  static_cast<void>(reader.finish(kNow));
  CHECK(reader.conclude({.code = 1, .stopped_after_result = reader.is_settled()}).completed == !events.empty());
}

void feed_agent_error(std::string_view input) {
  static_cast<void>(agents::class_of({.text = std::string(input)}));
  static_cast<void>(agents::innermost_message(input));
  static_cast<void>(agents::wait_in_header(input, {.now = kNow}));
  const agents::SaidWait wait = agents::wait_in_text(input, {.now = kNow});
  CHECK(!wait.retry_after || (*wait.retry_after >= Millis(0) && *wait.retry_after <= kDurationMax));
}

// The first line is a pattern of a runner profile; the rest is what a program printed before it failed.
void feed_output(std::string_view input) {
  const std::size_t end = std::min(input.find('\n'), input.size());
  const agents::OutputPattern pattern{std::string(input.substr(0, end)), ErrorClass::kRateLimited};
  const std::string_view output = input.substr(std::min(end + 1, input.size()));
  agents::OutputTail whole;
  whole.feed(LogStream::kOut, output);
  agents::OutputTail in_bytes;
  for (const char& byte : output) in_bytes.feed(LogStream::kOut, {&byte, 1});
  const std::vector<std::string> lines = whole.lines();
  CHECK_MSG(lines == in_bytes.lines(), "another cut of the stream was read otherwise");
  const agents::WallClock clock{.now = kNow};
  auto trouble = agents::usual_trouble(lines, clock);
  if (agents::check_output_pattern(pattern.match)) {
    if (auto found = agents::trouble_by_pattern(lines, std::span(&pattern, 1), clock)) trouble = std::move(found);
  }
  if (!trouble) return;
  CHECK(is_utf8(trouble->line) && !is_verdict(trouble->error_class));
  const auto wait = trouble->wait.from(kNow);
  CHECK(!wait || *wait >= Millis(0));
}

void feed_time_zone(std::string_view input) {
  for (const auto& zone : {TimeZone::parse(input), TimeZone::local("X" + std::string(input))}) {
    if (!zone) continue;
    for (const std::string_view time : {"0001-01-01T00:00:00Z", "2026-11-15T17:00:00Z", "9999-12-31T23:59:59Z"}) {
      static_cast<void>(zone->offset_at(*parse_time(time)));
    }
  }
}

}  // namespace drover::fuzz
