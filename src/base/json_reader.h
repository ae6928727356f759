// Reads the members of one JSON object by name, each as it stands in the text: what is a document inside a document
// keeps every byte. The first problem is kept and ends the reading, so that a reader of many members has no checks
// between them.
//
//   json::Reader in(text);
//   in.need("percent", progress.percent).get("message", progress.message);
//   return in.finish();
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/error.h"
#include "drover/ids.h"
#include "drover/time.h"

namespace drover::json {

// Where a value stands in the text that is read, which must outlive it.
struct Unread {
  std::string_view text;
};

// Each reads a whole value or says what it expected. Other types bring a read_json of their own, beside the type.
[[nodiscard]] Status read_json(std::string_view json, Unread& out);
[[nodiscard]] Status read_json(std::string_view json, std::string& out);
[[nodiscard]] Status read_json(std::string_view json, bool& out);
[[nodiscard]] Status read_json(std::string_view json, int& out);
[[nodiscard]] Status read_json(std::string_view json, std::int64_t& out);
[[nodiscard]] Status read_json(std::string_view json, std::uint64_t& out);
[[nodiscard]] Status read_json(std::string_view json, Time& out);
[[nodiscard]] Status read_json(std::string_view json, Millis& out);  // a number of milliseconds, not negative
[[nodiscard]] Status read_json(std::string_view json, TaskId& out);
[[nodiscard]] Status read_json(std::string_view json, LeaseId& out);
// The texts of an array's elements.
[[nodiscard]] Result<std::vector<std::string_view>> elements(std::string_view json);

template <class T>
[[nodiscard]] Status read_json(std::string_view json, std::vector<T>& out);

template <class T>
[[nodiscard]] Status read_json(std::string_view json, std::optional<T>& out) {
  if (json == "null") {
    out.reset();
    return {};
  }
  return read_json(json, out.emplace());
}

template <class T>
[[nodiscard]] Status read_json(std::string_view json, std::vector<T>& out) {
  const auto items = elements(json);
  if (!items) return std::unexpected(items.error());
  out.clear();
  for (const std::string_view item : *items) {
    Status read = read_json(item, out.emplace_back());
    if (!read) return read;
  }
  return {};
}

class Reader {
 public:
  // The text must outlive it. One that is no object is the first problem.
  explicit Reader(std::string_view object);
  explicit Reader(const char* object) : Reader(std::string_view(object)) {}
  explicit Reader(std::string&& object) = delete;

  // A member that may be missing or null; `out` is then left as it is.
  template <class T>
  Reader& get(std::string_view name, T& out) {
    const std::string_view* value = find(name);
    if (value != nullptr && *value != "null") note(name, read_json(*value, out));
    return *this;
  }
  // A member that must be there.
  template <class T>
  Reader& need(std::string_view name, T& out) {
    const std::string_view* value = find(name);
    if (value == nullptr) {
      if (!problem_) problem_ = Error{ErrorCode::kInvalidArgument, std::string(name) + " is missing", {}};
    } else {
      note(name, read_json(*value, out));
    }
    return *this;
  }
  // A member's JSON text, without white space outside strings; unset if it is missing or null. With get_any_text null
  // is a value like others.
  Reader& get_text(std::string_view name, std::optional<std::string>& out);
  Reader& get_any_text(std::string_view name, std::optional<std::string>& out);
  // As get_any_text of a member that must be there.
  Reader& need_any_text(std::string_view name, std::string& out);
  // Whether there is such a member that is not null.
  [[nodiscard]] bool has(std::string_view name);
  void refuse(std::string message);

  // The first problem. Members that nobody asked for do not matter: a newer peer may have more to say.
  [[nodiscard]] Status finish() const;
  // The same, but a member that nobody asked for is a problem, too.
  [[nodiscard]] Status finish_strictly() const;

 private:
  struct Member {
    std::string name;
    std::string_view value;
    bool asked_for = false;
  };

  [[nodiscard]] const std::string_view* find(std::string_view name);
  void note(std::string_view name, Status read);

  std::vector<Member> members_;
  std::optional<Error> problem_;
};

}  // namespace drover::json
