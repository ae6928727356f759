#include "agents/agent_event.h"

#include "base/json.h"
#include "core/names.h"

namespace drover::agents {
namespace {

constexpr Names<kAgentEventKindCount> kKindNames{"session", "text",  "reasoning", "tool_call", "tool_result", "usage",
                                                 "retry",   "error", "question",  "result",    "raw"};

}  // namespace

std::string_view name_of(AgentEventKind kind) {
  return name_in(kKindNames, kind);
}

std::string event_json(const AgentEvent& event) {
  json::Writer writer;
  writer.begin_object().key("kind").string(name_of(event.kind));
  const auto text = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) writer.key(key).string(value);
  };
  text("text", event.text);
  if (event.left_out_bytes > 0) writer.key("left_out_bytes").number(event.left_out_bytes);
  text("tool", event.tool);
  text("call_id", event.call_id);
  if (event.failed) writer.key("failed").boolean(true);
  if (event.error_class) writer.key("class").string(name_of(*event.error_class));
  if (event.status) writer.key("status").number(*event.status);
  if (event.delay) writer.key("delay_ms").number(event.delay->count());
  if (event.usage) writer.key("usage").raw(usage_json(*event.usage));
  writer.end_object();
  return std::move(writer).take();
}

}  // namespace drover::agents
