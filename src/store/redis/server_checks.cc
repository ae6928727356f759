#include "store/redis/server_checks.h"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <map>
#include <optional>

#include "base/try.h"
#include "store/redis/reply_error.h"

namespace drover::redis {
namespace {

using Level = Durability::Level;
using Settings = std::map<std::string, std::string, std::less<>>;

constexpr int kMajorMin = 7;

std::string_view value_of(const Settings& settings, std::string_view name) {
  const auto found = settings.find(name);
  return found == settings.end() ? std::string_view() : std::string_view(found->second);
}

// "# Server\r\nredis_version:7.0.15\r\n..."
Settings parse_info(std::string_view text) {
  Settings info;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\r\n"), text.size());
    const std::string_view line = text.substr(0, end);
    if (const std::size_t colon = line.find(':'); colon != std::string_view::npos && !line.starts_with('#')) {
      info.emplace(line.substr(0, colon), line.substr(colon + 1));
    }
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return info;
}

Result<Settings> read_info(Connection& connection, const Patience& patience) {
  const auto reply = TRY(connection.must_call(Command("INFO"), patience));
  const auto text = TRY(reply.as_text());
  return parse_info(text);
}

Status check_version(std::string_view version) {
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  if (major >= kMajorMin) return {};
  return fail(ErrorCode::kInvalidConfig,
              fmt::format("this Redis is version {}; Drover needs Redis 7.0 or later, or Valkey", version),
              "redis.check");
}

Status check_role(std::string_view role) {
  if (role == "master") return {};
  return fail(ErrorCode::kStoreUnavailable,
              fmt::format("this Redis is a {}, which cannot be written: name its primary", role), "redis.check");
}

Status check_policy(std::string_view policy) {
  if (policy == "noeviction") return {};
  return fail(
      ErrorCode::kInvalidConfig,
      fmt::format("maxmemory-policy is {}: this Redis throws keys away, and tasks with them, when its memory is "
                  "full; run CONFIG SET maxmemory-policy noeviction, and set it in redis.conf too",
                  policy),
      "redis.check");
}

// Nothing when the user may not ask.
Result<std::optional<Settings>> read_config(Connection& connection, const Patience& patience) {
  const auto reply = TRY(connection.call(Command("CONFIG", "GET", "appendonly", "appendfsync",
                                                 "no-appendfsync-on-rewrite", "save", "min-replicas-to-write"),
                                         patience));
  // Hosted servers hide CONFIG altogether (ERR unknown command).
  if (reply.error_text().starts_with("NOPERM") || reply.error_text().starts_with("ERR")) return std::nullopt;
  const auto pairs = TRY(reply.as_array());
  Settings settings;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const Result<std::string_view> name = pairs[i].as_text();
    const Result<std::string_view> value = pairs[i + 1].as_text();
    if (!name) return std::unexpected(name.error());
    if (!value) return std::unexpected(value.error());
    settings.emplace(*name, *value);
  }
  return settings;
}

Level level_of(const Settings& config) {
  const bool saves = !value_of(config, "save").empty();
  if (value_of(config, "appendonly") != "yes") return saves ? Level::kSnapshot : Level::kNone;
  const std::string_view fsync = value_of(config, "appendfsync");
  if (fsync == "no" || value_of(config, "no-appendfsync-on-rewrite") == "yes") return Level::kSnapshot;
  if (fsync != "always") return Level::kEverysec;
  const std::string_view replicas = value_of(config, "min-replicas-to-write");
  return replicas.empty() || replicas == "0" ? Level::kAlways : Level::kReplicated;
}

std::string_view sentence_of(Level level) {
  switch (level) {
    case Level::kUnknown:
      return "unknown: this user may not read the settings (CONFIG GET)";
    case Level::kNone:
      return "nothing survives the end of Redis: it neither saves nor keeps an append-only file";
    case Level::kSnapshot:
      return "what Redis had on disk survives; minutes of acknowledged work may be lost";
    case Level::kEverysec:
      return "up to about two seconds of acknowledged work may be lost when Redis or its machine dies";
    case Level::kAlways:
      return "nothing acknowledged is lost when Redis or its machine dies; a failover may lose what is not replicated";
    case Level::kReplicated:
      return "nothing acknowledged is lost when Redis or its machine dies, and writes need a live replica";
  }
  return {};
}

std::vector<std::string> warnings_of(const Settings& config) {
  std::vector<std::string> warnings;
  if (value_of(config, "appendonly") != "yes") {
    warnings.emplace_back("appendonly is no; to keep tasks run CONFIG SET appendonly yes");
    return warnings;
  }
  if (value_of(config, "appendfsync") == "no") {
    warnings.emplace_back(
        "appendfsync is no: the kernel decides when tasks reach the disk; run CONFIG SET appendfsync "
        "always, or everysec");
  }
  if (value_of(config, "no-appendfsync-on-rewrite") == "yes") {
    warnings.emplace_back(
        "no-appendfsync-on-rewrite is yes: nothing is synced while the append-only file is rewritten; "
        "run CONFIG SET no-appendfsync-on-rewrite no");
  }
  return warnings;
}

Durability durability_of(const std::optional<Settings>& config) {
  const Level level = config ? level_of(*config) : Level::kUnknown;
  std::vector<std::string> warnings;
  if (config) {
    warnings = warnings_of(*config);
  } else {
    warnings.emplace_back("the durability of this Redis cannot be checked; allow its user +config|get");
  }
  return {level, std::string(sentence_of(level)), std::move(warnings)};
}

}  // namespace

std::string_view name_of(Level level) {
  switch (level) {
    case Level::kUnknown:
      return "unknown";
    case Level::kNone:
      return "none";
    case Level::kSnapshot:
      return "snapshot";
    case Level::kEverysec:
      return "everysec";
    case Level::kAlways:
      return "always";
    case Level::kReplicated:
      return "replicated";
  }
  return {};
}

Result<ServerReport> check_server(Connection& connection, const Patience& patience) {
  const auto info = TRY(read_info(connection, patience));
  // Valkey names the Redis that it is compatible with in redis_version.
  Status fit = check_version(value_of(info, "redis_version"));
  if (fit) fit = check_role(value_of(info, "role"));
  if (fit) fit = check_policy(value_of(info, "maxmemory_policy"));
  if (!fit) return std::unexpected(fit.error());
  const auto config = TRY(read_config(connection, patience));
  const std::string_view valkey = value_of(info, "valkey_version");
  return ServerReport{.product = valkey.empty() ? "Redis" : "Valkey",
                      .version = std::string(valkey.empty() ? value_of(info, "redis_version") : valkey),
                      .durability = durability_of(config)};
}

}  // namespace drover::redis
