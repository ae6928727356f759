// What agents print, and the times in their errors.
#include <algorithm>

#include "agents/agent_reader.h"
#include "agents/preset.h"
#include "agents/trouble.h"
#include "base/check.h"
#include "base/time_zone.h"
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

void feed_agent_error(std::string_view input) {
  static_cast<void>(agents::class_of({.text = std::string(input)}));
  static_cast<void>(agents::innermost_message(input));
  static_cast<void>(agents::wait_in_header(input, {.now = kNow}));
  const agents::SaidWait wait = agents::wait_in_text(input, {.now = kNow});
  CHECK(!wait.retry_after || (*wait.retry_after >= Millis(0) && *wait.retry_after <= kDurationMax));
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
