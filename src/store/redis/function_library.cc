#include "store/redis/function_library.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/check.h"
#include "base/text.h"
#include "base/try.h"
#include "store/redis/key_names.h"
#include "store/redis/reply_error.h"

namespace drover::redis {
namespace {

std::optional<int> parse_part(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

Result<LibraryVersion> parse_version(std::string_view text) {
  const std::size_t dot = text.find('.');
  const auto major = parse_part(text.substr(0, dot));
  const auto minor = dot == std::string_view::npos ? std::nullopt : parse_part(text.substr(dot + 1));
  if (major && minor) return LibraryVersion{*major, *minor};
  return fail(
      ErrorCode::kStoreDamaged,
      fmt::format("Redis names {} as the version of its functions, which is not a version", quoted_excerpt(text)),
      "redis.library");
}

// "#!lua name=drover" and a new line.
std::string_view library_name_in(std::string_view text) {
  constexpr std::string_view kBefore = "name=";
  const std::string_view line = text.substr(0, text.find('\n'));
  const std::size_t at = line.find(kBefore);
  CHECK(at != std::string_view::npos);
  return line.substr(at + kBefore.size());
}

// Nothing: there is no library, or one too old to tell.
Result<std::optional<LibraryVersion>> loaded_version(Connection& connection, std::string_view name,
                                                     const Patience& patience) {
  const auto reply = TRY(connection.call(Command("FCALL_RO", fmt::format("{}_version", name), 0), patience));
  if (is_function_missing(reply)) return std::nullopt;
  const auto text = TRY(reply.as_text());
  return parse_version(text);
}

// What the data of the store was last written with; 0.0 if it does not say.
Result<LibraryVersion> required_version(Connection& connection, const std::string& key_prefix,
                                        const Patience& patience) {
  const auto reply = TRY(connection.call(Command("HGET", key_prefix + std::string(kSeqKey), "library"), patience));
  if (const auto failure = failure_of(reply)) return std::unexpected(*failure);
  // A key of another type is for fsck to tell, which needs the library.
  if (reply.is_nil() || reply.is_error()) return LibraryVersion{};
  const auto text = TRY(reply.as_text());
  return parse_version(text);
}

Status too_new(LibraryVersion theirs, LibraryVersion ours) {
  return fail(ErrorCode::kSchemaTooNew,
              fmt::format("this Redis is used by a newer drover: its functions have version {}, this program knows {}; "
                          "upgrade this program",
                          to_string(theirs), to_string(ours)),
              "redis.library");
}

}  // namespace

std::string to_string(LibraryVersion version) {
  return fmt::format("{}.{}", version.major, version.minor);
}

Status ensure_library(Connection& connection, const std::string& key_prefix, std::string_view text, LibraryVersion ours,
                      const Patience& patience) {
  const auto loaded = TRY(loaded_version(connection, library_name_in(text), patience));
  if (const std::optional<LibraryVersion> theirs = loaded) {
    if (theirs->major > ours.major) return too_new(*theirs, ours);
    if (*theirs >= ours) return {};
  }
  const auto required = TRY(required_version(connection, key_prefix, patience));
  if (required > ours) return too_new(required, ours);
  TRY(connection.must_call(Command("FUNCTION", "LOAD", "REPLACE", text), patience));
  return {};
}

}  // namespace drover::redis
