#include "engine/token_document.h"

#include <algorithm>

#include "base/json.h"
#include "base/sha256.h"

namespace drover {

namespace {

constexpr std::string_view kPrefix = "drv_";
constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::size_t kIdDigits = 8;
constexpr std::size_t kSecretDigits = 43;  // 62^43 > 2^256
constexpr std::size_t kCodeDigits = 24;    // 62^24 > 2^142
constexpr std::size_t kSha256Digits = 64;

std::string random_digits(Rng& rng, std::size_t count) {
  std::string digits(count, '0');
  std::ranges::generate(digits, [&] { return kDigits[rng.below(kDigits.size())]; });
  return digits;
}

bool are_digits(std::string_view text) {
  return text.find_first_not_of(kDigits) == std::string_view::npos;
}

Principal principal_of(const TokenInfo& token) {
  return {.token_id = token.id,
          .role = token.role,
          .owner = token.owner,
          .queues = token.queues,
          .expires_at = token.expires_at};
}

std::unexpected<Error> unreadable() {
  return fail(ErrorCode::kStoreDamaged, "the document of access tokens cannot be read", "engine.tokens");
}

}  // namespace

Status read_json(std::string_view json, StoredToken& out) {
  json::Reader in(json);
  read_members(in, out.info);
  in.need("sha256", out.sha256);
  if (out.sha256.size() != kSha256Digits) in.refuse("sha256: expected 64 digits");
  return in.finish();
}

Status read_json(std::string_view json, StoredSignin& out) {
  json::Reader in(json);
  read_members(in, out.record);
  in.need("sha256", out.sha256);
  if (out.sha256.size() != kSha256Digits) in.refuse("sha256: expected 64 digits");
  return in.finish();
}

Status read_json(std::string_view json, StoredCode& out) {
  json::Reader in(json);
  in.need("sha256", out.sha256).need("token_id", out.token_id).need("expires_at", out.expires_at);
  if (out.sha256.size() != kSha256Digits) in.refuse("sha256: expected 64 digits");
  return in.finish();
}

JsonText to_json(const TokenDocument& document) {
  json::Writer out;
  out.begin_object().key("tokens").begin_array();
  for (const auto& [id, token] : document.tokens) {
    out.begin_object();
    put_members(out, token.info);
    out.key("sha256").string(token.sha256).end_object();
  }
  out.end_array().key("signins").begin_array();
  for (const auto& [id, signin] : document.signins) {
    out.begin_object();
    put_members(out, signin.record);
    out.key("sha256").string(signin.sha256).end_object();
  }
  out.end_array().key("codes").begin_array();
  for (const StoredCode& code : document.codes) {
    out.begin_object().key("sha256").string(code.sha256).key("token_id").string(code.token_id);
    out.key("expires_at").string(format_time(code.expires_at)).end_object();
  }
  out.end_array().end_object();
  return std::move(out).take();
}

Result<TokenDocument> parse_token_document(std::int64_t version, std::string_view text) {
  TokenDocument document{.version = version};
  if (text == "{}") return document;
  std::vector<StoredToken> tokens;
  std::vector<StoredSignin> signins;
  json::Reader in(text);
  in.need("tokens", tokens).get("signins", signins).get("codes", document.codes);
  // Leaving one out that cannot be read would delete it with the next change.
  if (!in.finish()) return unreadable();
  for (StoredToken& token : tokens) {
    std::string id = token.info.id;
    document.tokens.emplace(std::move(id), std::move(token));
  }
  for (StoredSignin& signin : signins) {
    std::string id = signin.record.id;
    document.signins.emplace(std::move(id), std::move(signin));
  }
  return document;
}

Result<Principal> find_principal(const TokenDocument& document, std::string_view token, Time now) {
  const auto id = id_in_token(token);
  const auto found = id ? document.tokens.find(*id) : document.tokens.end();
  if (found == document.tokens.end() || !is_same_secret(found->second.sha256, sha256_hex(token))) {
    return fail(ErrorCode::kUnauthorised, "this token is not known here");
  }
  const TokenInfo& info = found->second.info;
  switch (state_of(info, now)) {
    case TokenState::kRevoked:
      return fail(ErrorCode::kUnauthorised, "this token was revoked");
    case TokenState::kExpired:
      return fail(ErrorCode::kUnauthorised, "this token has expired");
    case TokenState::kActive:
      break;
  }
  return principal_of(info);
}

bool is_unchanged(const Principal& before, Principal now) {
  now.expires_at = before.expires_at;
  return now == before;
}

std::optional<SigninInfo> signin_info(const TokenDocument& document, const SigninRecord& signin, Time now) {
  const auto token = document.tokens.find(signin.token_id);
  if (token == document.tokens.end() || state_of(token->second.info, now) != TokenState::kActive) return std::nullopt;
  if (idle_end(signin) <= now) return std::nullopt;
  const TokenInfo& behind = token->second.info;
  return SigninInfo{.record = signin,
                    .role = behind.role,
                    .owner = behind.owner,
                    .expires_at = std::min(idle_end(signin), behind.expires_at.value_or(Time::max()))};
}

Result<Principal> find_signed_in(const TokenDocument& document, std::string_view text, Time now) {
  const auto id = id_in_signin(text);
  const auto found = id ? document.signins.find(*id) : document.signins.end();
  const bool is_known = found != document.signins.end() && is_same_secret(found->second.sha256, sha256_hex(text));
  const auto info = is_known ? signin_info(document, found->second.record, now) : std::nullopt;
  if (!info) return fail(ErrorCode::kUnauthorised, "this sign-in is not known here or has ended; sign in again");
  Principal principal = principal_of(document.tokens.at(info->record.token_id).info);
  principal.signin_id = info->record.id;
  principal.expires_at = info->expires_at;
  return principal;
}

std::string signin_text(std::string_view cookie, std::string_view secret) {
  return std::string(kSigninPrefix).append(secret).append("_").append(cookie);
}

std::optional<std::string_view> id_in_signin_secret(std::string_view secret) {
  constexpr std::size_t kSize = kIdDigits + 1 + kSecretDigits;
  if (secret.size() != kSize || secret[kIdDigits] != '_') return std::nullopt;
  const std::string_view id = secret.substr(0, kIdDigits);
  return are_digits(id) && are_digits(secret.substr(kIdDigits + 1)) ? std::optional(id) : std::nullopt;
}

std::optional<std::string_view> id_in_signin(std::string_view text) {
  constexpr std::size_t kHalf = kIdDigits + 1 + kSecretDigits;
  if (text.size() != kSigninPrefix.size() + kHalf + 1 + kSecretDigits) return std::nullopt;
  if (!text.starts_with(kSigninPrefix)) return std::nullopt;
  text.remove_prefix(kSigninPrefix.size());
  if (text[kHalf] != '_' || !are_digits(text.substr(kHalf + 1))) return std::nullopt;
  return id_in_signin_secret(text.substr(0, kHalf));
}

std::string new_signin_code(Rng& rng) {
  return random_digits(rng, kCodeDigits);
}

std::string new_secret(Rng& rng) {
  return random_digits(rng, kSecretDigits);
}

std::string new_token_id(Rng& rng) {
  return random_digits(rng, kIdDigits);
}

std::string new_token_text(Rng& rng, std::string_view id) {
  return std::string(kPrefix).append(id).append("_").append(random_digits(rng, kSecretDigits));
}

std::optional<std::string_view> id_in_token(std::string_view token) {
  if (token.size() != kPrefix.size() + kIdDigits + 1 + kSecretDigits || !token.starts_with(kPrefix))
    return std::nullopt;
  const std::string_view id = token.substr(kPrefix.size(), kIdDigits);
  const std::string_view rest = token.substr(kPrefix.size() + kIdDigits);
  if (!are_digits(id) || rest.front() != '_' || !are_digits(rest.substr(1))) return std::nullopt;
  return id;
}

}  // namespace drover
