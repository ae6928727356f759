#include "base/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/json.h"
#include "base/json_scanner.h"
#include "base/text.h"
#include "base/try.h"

namespace drover::json {
namespace {

std::string_view kind_of(std::string_view json) {
  if (json.empty()) return "nothing";
  switch (json.front()) {
    case '{':
      return "an object";
    case '[':
      return "an array";
    case '"':
      return "a string";
    case 't':
    case 'f':
      return "a boolean";
    case 'n':
      return "null";
    default:
      return "a number";
  }
}

std::unexpected<Error> expected(std::string_view what, std::string_view json) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("expected {}, not {}", what, kind_of(json)));
}

template <class Number>
Status read_number(std::string_view json, Number& out) {
  const char* const end = json.data() + json.size();
  const auto [stop, error] = std::from_chars(json.data(), end, out);
  if (error == std::errc{} && stop == end) return {};
  if (kind_of(json) != "a number") return expected("a whole number", json);
  return fail(ErrorCode::kInvalidArgument, fmt::format("expected a whole number, not {}", quoted_excerpt(json)));
}

template <class T, class Parse>
Status read_parsed(std::string_view json, T& out, Parse parse) {
  std::string text;
  TRY(read_json(json, text));
  out = TRY(parse(text));
  return {};
}

template <class Id>
Status read_id(std::string_view json, Id& out, std::string_view what) {
  return read_parsed(json, out, [&](std::string_view text) -> Result<Id> {
    if (const auto id = Id::parse(text)) return *id;
    return fail(ErrorCode::kInvalidArgument, fmt::format("expected {}, not {}", what, quoted_excerpt(text)));
  });
}

// Calls `child` with the place of each value one level inside the one container that the text is, and, in an object,
// with its key.
template <class Child>
Status walk(std::string_view text, TokenKind container, Child child) {
  Scanner scanner(text, kEnvelopeDepthMax);
  Token token;
  Token key;
  int depth = 0;
  const char* begin = nullptr;
  const char* end = nullptr;
  const auto flush = [&] {
    if (begin != nullptr) child(key, std::string_view(begin, end));
    begin = nullptr;
  };
  while (scanner.next(token)) {
    using enum TokenKind;
    if (depth == 0 && token.kind != container) {
      return expected(container == kBeginObject ? "an object" : "an array", token.raw);
    }
    if (token.kind == kEndObject || token.kind == kEndArray) --depth;
    if (depth == 0 || (depth == 1 && token.kind == kComma)) {
      flush();
    } else if (depth == 1 && token.kind == kKey) {
      key = token;
    } else if (depth > 1 || token.kind != kColon) {
      if (begin == nullptr) begin = token.raw.data();
      end = token.raw.data() + token.raw.size();
    }
    if (token.kind == kBeginObject || token.kind == kBeginArray) ++depth;
  }
  if (scanner.failed()) return std::unexpected(scanner.error());
  return {};
}

}  // namespace

Status read_json(std::string_view json, Unread& out) {
  out.text = json;
  return {};
}

Status read_json(std::string_view json, std::string& out) {
  Scanner scanner(json);
  Token token;
  if (!scanner.next(token) || token.kind != TokenKind::kString) return expected("a string", json);
  out = unescape(token);
  return {};
}

Status read_json(std::string_view json, bool& out) {
  if (json != "true" && json != "false") return expected("true or false", json);
  out = json == "true";
  return {};
}

Status read_json(std::string_view json, int& out) {
  return read_number(json, out);
}
Status read_json(std::string_view json, std::int64_t& out) {
  return read_number(json, out);
}
Status read_json(std::string_view json, std::uint64_t& out) {
  return read_number(json, out);
}

Status read_json(std::string_view json, Time& out) {
  return read_parsed(json, out, parse_time);
}

Status read_json(std::string_view json, Millis& out) {
  std::int64_t number = 0;
  TRY(read_number(json, number));
  if (number < 0 || number > kDurationMax.count()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("expected 0 to {} milliseconds, not {}", kDurationMax.count(), number));
  }
  out = Millis{number};
  return {};
}

Status read_json(std::string_view json, TaskId& out) {
  return read_id(json, out, "a UUID");
}
Status read_json(std::string_view json, LeaseId& out) {
  return read_id(json, out, "32 hex digits");
}

Result<std::vector<std::string_view>> elements(std::string_view json) {
  std::vector<std::string_view> items;
  TRY(walk(json, TokenKind::kBeginArray, [&](const Token&, std::string_view item) { items.push_back(item); }));
  return items;
}

Reader::Reader(std::string_view object) {
  const Status walked = walk(object, TokenKind::kBeginObject, [&](const Token& key, std::string_view value) {
    members_.push_back({unescape(key), value});
  });
  if (!walked) problem_ = walked.error();
}

Reader& Reader::get_text(std::string_view name, std::optional<std::string>& out) {
  return has(name) ? get_any_text(name, out) : *this;
}

Reader& Reader::get_any_text(std::string_view name, std::optional<std::string>& out) {
  const std::string_view* value = find(name);
  if (value == nullptr || problem_) return *this;
  auto compacted = compact(*value);
  if (compacted) {
    out = *std::move(compacted);
  } else {
    note(name, std::unexpected(std::move(compacted.error())));
  }
  return *this;
}

Reader& Reader::need_any_text(std::string_view name, std::string& out) {
  std::optional<std::string> text;
  get_any_text(name, text);
  if (text) {
    out = *std::move(text);
  } else {
    refuse(std::string(name) + " is missing");
  }
  return *this;
}

bool Reader::has(std::string_view name) {
  const std::string_view* value = find(name);
  return value != nullptr && *value != "null";
}

void Reader::refuse(std::string message) {
  if (!problem_) problem_ = Error{ErrorCode::kInvalidArgument, std::move(message), {}};
}

Status Reader::finish() const {
  if (problem_) return std::unexpected(*problem_);
  return {};
}

Status Reader::finish_strictly() const {
  if (problem_) return std::unexpected(*problem_);
  const auto stranger = std::ranges::find(members_, false, &Member::asked_for);
  if (stranger == members_.end()) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("unknown field {}", quoted_excerpt(stranger->name)));
}

const std::string_view* Reader::find(std::string_view name) {
  const auto member = std::ranges::find(members_, name, &Member::name);
  if (member == members_.end()) return nullptr;
  member->asked_for = true;
  return &member->value;
}

void Reader::note(std::string_view name, Status read) {
  if (read || problem_) return;
  problem_ = std::move(read.error());
  problem_->message = fmt::format("{}: {}", name, problem_->message);
}

}  // namespace drover::json
