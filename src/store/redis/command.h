// One command of Redis: a flat list of arguments, kept as the bytes that go on the wire.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace drover::redis {

// Command("HSET").add(key, "state", "pending", "run", 3). Arguments are any bytes; integers are written as text.
class Command {
 public:
  template <class... Arguments>
  explicit Command(std::string_view name, const Arguments&... arguments) {
    put(name);
    add(arguments...);
  }

  template <class... Arguments>
  Command& add(const Arguments&... arguments) {
    (put(arguments), ...);
    return *this;
  }
  // Room for arguments of so many bytes altogether, where the size is known beforehand.
  void reserve(std::size_t bytes) { body_.reserve(bytes); }

  [[nodiscard]] std::size_t argument_count() const { return count_; }  // with the name
  // What append_to adds, within a few bytes.
  [[nodiscard]] std::size_t bytes() const { return body_.size() + kCountBytesMax; }
  // The command as Redis reads it, at the end of a buffer that may hold others.
  void append_to(std::string& out) const {
    put_count(out, '*', count_);
    out += body_;
  }

 private:
  static constexpr std::size_t kCountBytesMax = 24;

  static void put_count(std::string& out, char kind, std::size_t count) {
    std::array<char, kCountBytesMax> text;
    text[0] = kind;
    char* end = std::to_chars(text.data() + 1, text.data() + text.size() - 2, count).ptr;
    *end++ = '\r';
    *end++ = '\n';
    out.append(text.data(), end);
  }

  void put(std::string_view argument) {
    put_count(body_, '$', argument.size());
    body_.append(argument).append("\r\n");
    ++count_;
  }
  template <std::integral Integer>
    requires(!std::same_as<Integer, bool> && !std::same_as<Integer, char>)
  void put(Integer value) {
    std::array<char, kCountBytesMax> text;
    const char* end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    put(std::string_view(text.data(), end));
  }

  std::string body_;  // every argument with its length; the count stands before it
  std::size_t count_ = 0;
};

}  // namespace drover::redis
