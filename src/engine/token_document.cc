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
constexpr std::size_t kSha256Digits = 64;

std::string random_digits(Rng& rng, std::size_t count) {
  std::string digits(count, '0');
  std::ranges::generate(digits, [&] { return kDigits[rng.below(kDigits.size())]; });
  return digits;
}

bool are_digits(std::string_view text) {
  return text.find_first_not_of(kDigits) == std::string_view::npos;
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

JsonText to_json(const TokenDocument& document) {
  json::Writer out;
  out.begin_object().key("tokens").begin_array();
  for (const auto& [id, token] : document.tokens) {
    out.begin_object();
    put_members(out, token.info);
    out.key("sha256").string(token.sha256).end_object();
  }
  out.end_array().end_object();
  return std::move(out).take();
}

Result<TokenDocument> parse_token_document(std::int64_t version, std::string_view text) {
  TokenDocument document{.version = version};
  if (text == "{}") return document;
  std::vector<StoredToken> tokens;
  json::Reader in(text);
  in.need("tokens", tokens);
  // Leaving one out that cannot be read would delete it with the next change.
  if (!in.finish()) return unreadable();
  for (StoredToken& token : tokens) {
    std::string id = token.info.id;
    document.tokens.emplace(std::move(id), std::move(token));
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
  return Principal{.token_id = info.id, .role = info.role, .owner = info.owner, .queues = info.queues};
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
