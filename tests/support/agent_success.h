// Whether an agent's output holds a success event, decided apart from the presets: they must not find one where this
// does not.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/text.h"

namespace drover {

// Halves of characters, which JavaScript leaves where it cut a text, are not what this is about.
[[nodiscard]] inline std::string without_surrogates(std::string text) {
  for (std::size_t at = text.find("\\u"); at != std::string::npos; at = text.find("\\u", at + 1)) {
    if (at + 6 > text.size() || (text[at + 2] | 0x20) != 'd' || text[at + 3] < '8') continue;
    text.replace(at, 6, "\\ufffd");
  }
  return text;
}

[[nodiscard]] inline bool has_success_event(std::string_view preset, std::string_view output) {
  bool found = false;
  while (!output.empty()) {
    const std::string_view text = output.substr(0, output.find('\n'));
    output.remove_prefix(std::min(text.size() + 1, output.size()));
    const auto line = json::parse(without_surrogates(to_utf8(text)), json::kEnvelopeDepthMax, json::kAnyKeys);
    if (!line || line->as_object() == nullptr) continue;
    const auto is = [](const json::Value* object, std::string_view key, const json::Value& value) {
      const json::Value* member = object != nullptr ? object->find(key) : nullptr;
      return member != nullptr && *member == value;
    };
    const json::Value* type = line->find("type");
    const std::string event = type != nullptr && type->as_string() != nullptr ? *type->as_string() : "";
    if (preset == "codex") {
      if (event == "turn.completed" || event == "turn.failed") found = event == "turn.completed";
    } else if (preset == "opencode") {
      if (event == "step_start" || event == "error") found = false;
      if (event == "step_finish") found = is(line->find("part"), "reason", "stop");
    } else if (event == "result" && preset == "gemini") {
      found = is(&*line, "status", "success");
    } else if (event == "result") {
      found = is(&*line, "subtype", "success") && !is(&*line, "is_error", true);
    }
  }
  return found;
}

}  // namespace drover
