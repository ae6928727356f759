#include "store/redis/reply_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace drover::redis {
namespace {

using enum ErrorCode;

enum class Then : std::uint8_t { kStay, kReconnect };

struct Meaning {
  std::string_view word;
  ErrorCode code;
  std::string_view text;
  Then then = Then::kStay;
};

constexpr std::string_view kIsCluster =
    "this Redis is a node of a cluster, which Drover does not support yet; name a server that is not";

constexpr std::array kMeanings = std::to_array<Meaning>({
    {"LOADING", kStoreUnavailable, "Redis is still loading its data"},
    {"BUSY", kStoreUnavailable, "Redis is busy with a script that does not end"},
    {"MASTERDOWN", kStoreUnavailable, "Redis is a replica that has lost its primary"},
    {"CLUSTERDOWN", kStoreUnavailable, "the Redis cluster is down"},
    {"TRYAGAIN", kStoreUnavailable, "the Redis cluster is moving keys"},
    {"NOREPLICAS", kStoreUnavailable, "Redis has too few replicas to accept writes (min-replicas-to-write)"},
    {"MISCONF", kStoreUnavailable, "Redis refuses writes because it cannot save to its disk"},
    {"MOVED", kStoreUnavailable, kIsCluster},
    {"ASK", kStoreUnavailable, kIsCluster},
    {"CROSSSLOT", kStoreUnavailable, kIsCluster},
    {"READONLY", kStoreUnavailable, "this Redis is a replica and cannot be written", Then::kReconnect},
    {"UNBLOCKED", kStoreUnavailable, "Redis ended a waiting call because its role changed"},
    {"OOM", kStoreUnavailable, "Redis is out of memory (maxmemory): give it more, or let finished tasks be deleted"},
    {"NOAUTH", kUnauthorised, "Redis asks for a password: redis://USER:PASSWORD@HOST:PORT"},
    {"WRONGPASS", kUnauthorised, "Redis refused the user or the password"},
    {"NOPERM", kUnauthorised, "the Redis user lacks a permission (ACL)"},
});

const Meaning* meaning_of(const Reply& reply) {
  const std::string_view text = reply.error_text();
  const auto found = std::ranges::find(kMeanings, text.substr(0, text.find(' ')), &Meaning::word);
  return found == kMeanings.end() ? nullptr : &*found;
}

bool is_library_old(const Reply& reply) {
  return reply.error_text().find("LIBRARYOLD") != std::string_view::npos;
}

}  // namespace

std::optional<Error> failure_of(const Reply& reply) {
  const Meaning* meaning = meaning_of(reply);
  if (meaning == nullptr) return std::nullopt;
  return Error{meaning->code, fmt::format("{}: {}", meaning->text, reply.error_text()), "redis.call"};
}

Error error_of(const Reply& reply) {
  if (is_library_old(reply)) {
    return {kSchemaTooNew,
            fmt::format("the functions in Redis are older than its data, and so is this program; upgrade it: {}",
                        reply.error_text()),
            "redis.call"};
  }
  return failure_of(reply).value_or(
      Error{kInternal, fmt::format("Redis refused a command: {}", reply.error_text()), "redis.call"});
}

bool ends_connection(const Reply& reply) {
  const Meaning* meaning = meaning_of(reply);
  return meaning != nullptr && meaning->then == Then::kReconnect;
}

bool is_function_missing(const Reply& reply) {
  return reply.error_text().starts_with("ERR Function not found") || is_library_old(reply);
}

bool is_function_broken_off(const Reply& reply) {
  return reply.error_text().find("on @user_function") != std::string_view::npos;
}

}  // namespace drover::redis
