// Access tokens as the store keeps them: one document, changed under compare-and-set. A token's text is known only to
// whom it was given; stored is its SHA-256.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "core/access_token.h"
#include "core/role.h"
#include "drover/error.h"
#include "drover/task.h"
#include "drover/time.h"

namespace drover {

struct StoredToken {
  TokenInfo info;
  std::string sha256;  // of the whole text, in hex

  bool operator==(const StoredToken&) const = default;
};

[[nodiscard]] Status read_json(std::string_view json, StoredToken& out);

struct TokenDocument {
  std::int64_t version = 0;
  std::map<std::string, StoredToken, std::less<>> tokens = {};  // by id

  bool operator==(const TokenDocument&) const = default;
};

[[nodiscard]] JsonText to_json(const TokenDocument& document);
[[nodiscard]] Result<TokenDocument> parse_token_document(std::int64_t version, std::string_view text);

// Who calls, and what that allows.
struct Principal {
  std::string token_id;
  Role role = Role::kViewer;
  std::optional<std::string> owner = {};
  std::vector<std::string> queues = {};

  bool operator==(const Principal&) const = default;
};

// Whom the text of a token stands for. Errors are kUnauthorised, and say that a token was revoked or has expired only
// to those who know its secret.
[[nodiscard]] Result<Principal> find_principal(const TokenDocument& document, std::string_view token, Time now);

// "drv_ID_SECRET", with 256 random bits in the secret.
[[nodiscard]] std::string new_token_id(Rng& rng);
[[nodiscard]] std::string new_token_text(Rng& rng, std::string_view id);
// The id within the text of a token; none if it is no such text.
[[nodiscard]] std::optional<std::string_view> id_in_token(std::string_view token);

}  // namespace drover
