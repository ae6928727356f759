// Access tokens as they are told of and ordered; engine/token_document.h is what the store keeps of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/json_reader.h"
#include "core/role.h"
#include "drover/time.h"

namespace drover {

// What may be told of a token.
struct TokenInfo {
  std::string id = {};
  Role role = Role::kViewer;
  std::optional<std::string> owner = {};  // whose tasks a viewer or a producer sees
  std::vector<std::string> queues = {};   // of a worker; empty: all
  std::string note = {};
  std::string created_by = {};
  Time created_at{};
  std::optional<Time> expires_at = {};
  std::optional<Time> last_used_at = {};  // to the minute
  std::optional<Time> revoked_at = {};
  std::string revoked_by = {};

  bool operator==(const TokenInfo&) const = default;
};

enum class TokenState : std::uint8_t { kActive, kExpired, kRevoked };
[[nodiscard]] TokenState state_of(const TokenInfo& token, Time now);
[[nodiscard]] std::string_view name_of(TokenState state);

struct NewToken {
  Role role = Role::kViewer;
  std::optional<std::string> owner = {};  // of a viewer or producer, else kDefaultOwner; nobody else has one
  std::vector<std::string> queues = {};   // of a worker; empty: all
  std::string note = {};
  std::optional<Millis> expires_in = {};
  std::string by = {};  // who makes it
};

struct CreatedToken {
  std::string text;  // the only copy
  TokenInfo info;
};

[[nodiscard]] std::string to_json(const TokenInfo& token);
[[nodiscard]] Status read_json(std::string_view json, TokenInfo& out);
// The text as "token", then what is told of it.
[[nodiscard]] std::string to_json(const CreatedToken& created);
[[nodiscard]] Status read_json(std::string_view json, CreatedToken& out);
[[nodiscard]] Status read_json(std::string_view json, Role& out);

// The members of an object that has others, too.
void put_members(json::Writer& out, const TokenInfo& token);
void read_members(json::Reader& in, TokenInfo& out);

}  // namespace drover
