#include "cli/transcript_view.h"

#include <fmt/format.h>

#include <array>

#include "base/json.h"
#include "base/text.h"
#include "cli/display_text.h"

namespace drover::cli {
namespace {

constexpr std::size_t kToolTextColumns = 200;

// How a kind looks: what stands before it, in which paint, and whether its text is cut to one line.
struct Shape {
  std::string_view kind;
  std::string_view sign;
  Paint paint;
  bool is_short;
};
constexpr std::array<Shape, 10> kShapes{{
    {"text", "", Paint::kNone, false},
    {"reasoning", "… ", Paint::kDim, false},
    {"tool_call", "→ ", Paint::kCyan, true},
    {"tool_result", "← ", Paint::kDim, true},
    {"retry", "↻ ", Paint::kYellow, true},
    {"error", "✗ ", Paint::kRed, true},
    {"question", "? ", Paint::kYellow, false},
    {"result", "= ", Paint::kGreen, false},
    {"session", "# session ", Paint::kDim, true},
    {"raw", "", Paint::kDim, true},
}};

std::string_view text_of(const json::Value& event, std::string_view name) {
  const json::Value* member = event.find(name);
  const std::string* text = member != nullptr ? member->as_string() : nullptr;
  return text != nullptr ? std::string_view(*text) : std::string_view{};
}

}  // namespace

std::string transcript_text(const TranscriptLine& line, const Look& look) {
  const auto event = json::parse(line.event);
  if (!event) return {};
  const std::string_view kind = text_of(*event, "kind");
  for (const Shape& shape : kShapes) {
    if (shape.kind != kind) continue;
    std::string text(text_of(*event, "text"));
    if (const std::string_view tool = text_of(*event, "tool"); !tool.empty()) text = fmt::format("{} {}", tool, text);
    text = shape.is_short ? cut_to_width(one_line(text), kToolTextColumns) : harmless(text);
    while (text.ends_with('\n')) text.pop_back();
    const json::Value* left_out = event->find("left_out_bytes");
    if (const auto bytes = left_out != nullptr ? left_out->as_int() : std::nullopt)
      text += fmt::format(" [{} left out]", counted(*bytes, "byte"));
    return painted(fmt::format("{}{}", shape.sign, text), shape.paint, look) + "\n";
  }
  return {};
}

}  // namespace drover::cli
