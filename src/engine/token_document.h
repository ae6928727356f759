// Access tokens as the store keeps them, with the sign-ins and sign-in codes that stand for them: one document, changed
// under compare-and-set. The texts are known only to whom they were given; stored are their SHA-256.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "core/access_token.h"
#include "core/role.h"
#include "core/signin.h"
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

struct StoredSignin {
  SigninRecord record;
  std::string sha256;  // of both halves together, in hex

  bool operator==(const StoredSignin&) const = default;
};

[[nodiscard]] Status read_json(std::string_view json, StoredSignin& out);

struct StoredCode {
  std::string sha256;
  std::string token_id;
  Time expires_at{};

  bool operator==(const StoredCode&) const = default;
};

[[nodiscard]] Status read_json(std::string_view json, StoredCode& out);

struct TokenDocument {
  std::int64_t version = 0;
  std::map<std::string, StoredToken, std::less<>> tokens = {};    // by id
  std::map<std::string, StoredSignin, std::less<>> signins = {};  // by id
  std::vector<StoredCode> codes = {};                             // the oldest first

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
  std::string signin_id = {};           // of a browser; else empty
  std::optional<Time> expires_at = {};  // as far as is known now; using a sign-in moves it

  bool operator==(const Principal&) const = default;
};

// Whether it is the same caller with the same rights as before, until whenever.
[[nodiscard]] bool is_unchanged(const Principal& before, Principal now);

// Whom the text of a token stands for. Errors are kUnauthorised, and say that a token was revoked or has expired only
// to those who know its secret.
[[nodiscard]] Result<Principal> find_principal(const TokenDocument& document, std::string_view token, Time now);

// The same for both halves of a sign-in: its cookie, and its secret "ID_SECRET". Both together are one text, as a
// token is. It is no bearer token: the cookie is kept from scripts.
[[nodiscard]] Result<Principal> find_signed_in(const TokenDocument& document, std::string_view text, Time now);
inline constexpr std::string_view kSigninPrefix = "drs_";
[[nodiscard]] std::string signin_text(std::string_view cookie, std::string_view secret);
// The id within the text or the secret of a sign-in; none if it is no such text.
[[nodiscard]] std::optional<std::string_view> id_in_signin(std::string_view text);
[[nodiscard]] std::optional<std::string_view> id_in_signin_secret(std::string_view secret);
[[nodiscard]] std::string new_signin_code(Rng& rng);
// What nobody can guess: 256 random bits.
[[nodiscard]] std::string new_secret(Rng& rng);
// What may be told of a sign-in; none if it has ended, by itself or with its token.
[[nodiscard]] std::optional<SigninInfo> signin_info(const TokenDocument& document, const SigninRecord& signin,
                                                    Time now);

// "drv_ID_SECRET", with 256 random bits in the secret.
[[nodiscard]] std::string new_token_id(Rng& rng);
[[nodiscard]] std::string new_token_text(Rng& rng, std::string_view id);
// The id within the text of a token; none if it is no such text.
[[nodiscard]] std::optional<std::string_view> id_in_token(std::string_view token);

}  // namespace drover
