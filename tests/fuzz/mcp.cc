// Messages of MCP, as anybody may send them, and texts of tasks, as anybody may have written them.
#include <fmt/format.h>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "fuzz/targets.h"
#include "mcp/arguments.h"
#include "mcp/clean_text.h"
#include "mcp/line_reader.h"
#include "mcp/request.h"

namespace drover::fuzz {
namespace {

void check_request(std::string_view text, const mcp::HttpHeaders* headers) {
  const auto request = mcp::read_request(text, headers);
  if (!request) {
    const std::string message = mcp::error_message(request.error());
    CHECK_MSG(json::parse(message).has_value(), message);
    return;
  }
  CHECK(json::parse(request->message.params).has_value());
  if (request->message.id) CHECK(json::parse(mcp::result_message(*request->message.id, "{}")).has_value());
}

}  // namespace

// A message on stdio and over HTTP, and the same bytes as the arguments of every tool.
void feed_mcp(std::string_view input) {
  check_request(input, nullptr);
  const mcp::HttpHeaders modern{
      .version = "2026-07-28", .method = "tools/call", .name = std::string(input.substr(0, 40))};
  check_request(input, &modern);
  (void)mcp::read_enqueue(input);
  (void)mcp::read_get(input);
  (void)mcp::read_list(input);
  (void)mcp::read_verdict(input);
  if (const auto wait = mcp::read_wait(input)) CHECK(wait->ids.size() <= mcp::kWaitedTasksMax);
}

// However the bytes come, the lines are the same, and none is longer than it may be.
void feed_mcp_lines(std::string_view input) {
  constexpr std::size_t kBytesMax = 50;
  mcp::LineCutter whole(kBytesMax);
  mcp::LineCutter split(kBytesMax);
  auto expected = whole.add(input);
  std::vector<std::optional<std::string>> lines;
  for (const char byte : input) {
    for (auto& line : split.add({&byte, 1})) lines.push_back(std::move(line));
  }
  CHECK(lines == expected && split.rest() == whole.rest());
  for (const auto& line : lines) CHECK(!line || line->size() <= kBytesMax);
}

void feed_mcp_text(std::string_view input) {
  const std::string clean = mcp::clean_text(input);
  CHECK(is_utf8(clean) && mcp::clean_text(clean) == clean);
  CHECK(is_utf8(mcp::first_bytes(clean, 20)) && is_utf8(mcp::last_bytes(clean, 20)));
  if (const auto value = json::parse(input)) {
    CHECK(json::parse(json::dump(mcp::clean_value(*value))).has_value());
  }
}

}  // namespace drover::fuzz
