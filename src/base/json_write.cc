#include <fmt/format.h>

#include <array>
#include <charconv>
#include <iterator>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"

namespace drover::json {
namespace {

void append_control(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
  }
}

bool is_plain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
}

void append_quoted(std::string& out, std::string_view text) {
  if (!is_utf8(text)) return append_quoted(out, to_utf8(text));
  out.push_back('"');
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_plain(text[i])) continue;
    out.append(text, start, i - start);
    append_control(out, text[i]);
    start = i + 1;
  }
  out.append(text, start);
  out.push_back('"');
}

enum class Layout : std::uint8_t { kCompact, kPretty };

class Dumper {
 public:
  Dumper(std::string& out, Layout layout) : out_(out), layout_(layout) {}

  void value(const Value& value) {
    if (const auto* object = value.as_object()) {
      return items('{', *object, '}', [this](const Value::Member& member) {
        append_quoted(out_, member.first);
        out_ += layout_ == Layout::kPretty ? ": " : ":";
        this->value(member.second);
      });
    }
    if (const auto* array = value.as_array()) {
      return items('[', *array, ']', [this](const Value& item) { this->value(item); });
    }
    scalar(value);
  }

 private:
  template <class Range, class Each>
  void items(char begin, const Range& range, char end, Each each) {
    out_.push_back(begin);
    ++depth_;
    bool first = true;
    for (const auto& item : range) {
      if (!first) out_.push_back(',');
      first = false;
      new_line();
      each(item);
    }
    --depth_;
    if (!first) new_line();
    out_.push_back(end);
  }

  void new_line() {
    if (layout_ == Layout::kPretty) out_.append("\n").append(2 * depth_, ' ');
  }

  void scalar(const Value& value) {
    if (const auto* text = value.as_string()) {
      append_quoted(out_, *text);
    } else if (const auto* number = value.as_number()) {
      out_ += number->text;
    } else if (const bool* boolean = value.as_bool()) {
      out_ += *boolean ? "true" : "false";
    } else {
      CHECK(value.is_null());
      out_ += "null";
    }
  }

  std::string& out_;
  const Layout layout_;
  std::size_t depth_ = 0;
};

std::string dump_with(const Value& value, Layout layout) {
  std::string out;
  Dumper(out, layout).value(value);
  return out;
}

}  // namespace

std::string dump(const Value& value) {
  return dump_with(value, Layout::kCompact);
}
std::string dump_pretty(const Value& value) {
  return dump_with(value, Layout::kPretty);
}

std::string quote(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  append_quoted(out, text);
  return out;
}

Writer& Writer::begin_object() {
  return begin(Kind::kObject, '{');
}
Writer& Writer::end_object() {
  return end(Kind::kObject, '}');
}
Writer& Writer::begin_array() {
  return begin(Kind::kArray, '[');
}
Writer& Writer::end_array() {
  return end(Kind::kArray, ']');
}

Writer& Writer::key(std::string_view name) {
  CHECK_MSG(!levels_.empty() && levels_.back().kind == Kind::kObject && !after_key_, "a key belongs into an object");
  separate();
  append_quoted(out_, name);
  out_.push_back(':');
  after_key_ = true;
  return *this;
}

Writer& Writer::string(std::string_view text) {
  before_value();
  append_quoted(out_, text);
  return *this;
}

Writer& Writer::string_or_null(std::string_view text) {
  return text.empty() ? null() : string(text);
}

Writer& Writer::number(std::int64_t value) {
  before_value();
  std::array<char, 24> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out_.append(digits.data(), written.ptr);
  return *this;
}

Writer& Writer::boolean(bool value) {
  return raw(value ? "true" : "false");
}
Writer& Writer::null() {
  return raw("null");
}

Writer& Writer::raw(std::string_view value) {
  CHECK_MSG(!value.empty(), "no text is no JSON value");
  before_value();
  out_ += value;
  return *this;
}

std::string Writer::take() && {
  CHECK_MSG(levels_.empty() && !out_.empty(), "the document is not complete");
  return std::move(out_);
}

Writer& Writer::begin(Kind kind, char bracket) {
  before_value();
  levels_.push_back({kind, false});
  out_.push_back(bracket);
  return *this;
}

Writer& Writer::end(Kind kind, char bracket) {
  CHECK_MSG(!levels_.empty() && levels_.back().kind == kind && !after_key_, "this does not end what is open");
  levels_.pop_back();
  out_.push_back(bracket);
  return *this;
}

void Writer::before_value() {
  if (levels_.empty()) {
    CHECK_MSG(out_.empty(), "a document is one value");
  } else if (levels_.back().kind == Kind::kArray) {
    separate();
  } else {
    CHECK_MSG(after_key_, "a member needs its key first");
    after_key_ = false;
  }
}

void Writer::separate() {
  if (levels_.back().has_items) out_.push_back(',');
  levels_.back().has_items = true;
}

}  // namespace drover::json
