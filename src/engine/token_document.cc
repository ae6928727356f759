#include "engine/token_document.h"

#include <algorithm>

#include "base/json.h"
#include "base/sha256.h"
#include "core/names.h"

namespace drover {

namespace {

constexpr Names<3> kStateNames{"active", "expired", "revoked"};

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

// ---- JSON

void put(json::Writer& out, std::string_view key, const std::optional<Time>& time) {
  out.key(key);
  time ? out.string(format_time(*time)) : out.null();
}

void put_info(json::Writer& out, const TokenInfo& token) {
  out.key("id").string(token.id).key("role").string(name_of(token.role)).key("owner");
  token.owner ? out.string(*token.owner) : out.null();
  out.key("queues").begin_array();
  for (const std::string& queue : token.queues) out.string(queue);
  out.end_array().key("note").string(token.note).key("created_by").string(token.created_by);
  put(out, "created_at", token.created_at);
  put(out, "expires_at", token.expires_at);
  put(out, "last_used_at", token.last_used_at);
  put(out, "revoked_at", token.revoked_at);
  out.key("revoked_by").string(token.revoked_by);
}

// The members of one token. What is missing, or of another kind, makes it unreadable.
class Members {
 public:
  explicit Members(const json::Value& value) : value_(value) {}

  std::string text(std::string_view key) {
    const json::Value* member = value_.find(key);
    const std::string* text = member != nullptr ? member->as_string() : nullptr;
    good_ = good_ && text != nullptr;
    return text != nullptr ? *text : "";
  }
  std::optional<std::string> optional_text(std::string_view key) {
    const json::Value* member = value_.find(key);
    if (member != nullptr && member->is_null()) return std::nullopt;
    return text(key);
  }
  Time time(std::string_view key) {
    const auto time = parse_time(text(key));
    good_ = good_ && time.has_value();
    return time.value_or(Time{});
  }
  std::optional<Time> optional_time(std::string_view key) {
    if (!optional_text(key)) return std::nullopt;
    return time(key);
  }
  std::vector<std::string> texts(std::string_view key) {
    const json::Value* member = value_.find(key);
    const json::Value::Array* items = member != nullptr ? member->as_array() : nullptr;
    good_ = good_ && items != nullptr;
    std::vector<std::string> texts;
    for (const json::Value& item : items != nullptr ? *items : json::Value::Array{}) {
      good_ = good_ && item.as_string() != nullptr;
      if (good_) texts.push_back(*item.as_string());
    }
    return texts;
  }
  void require(bool holds) { good_ = good_ && holds; }
  [[nodiscard]] bool good() const { return good_; }

 private:
  const json::Value& value_;
  bool good_ = true;
};

std::optional<StoredToken> read_token(const json::Value& value) {
  Members members(value);
  StoredToken token;
  TokenInfo& info = token.info;
  info.id = members.text("id");
  const auto role = parse_role(members.text("role"));
  members.require(role.has_value());
  info.role = role.value_or(Role::kViewer);
  info.owner = members.optional_text("owner");
  info.queues = members.texts("queues");
  info.note = members.text("note");
  info.created_by = members.text("created_by");
  info.created_at = members.time("created_at");
  info.expires_at = members.optional_time("expires_at");
  info.last_used_at = members.optional_time("last_used_at");
  info.revoked_at = members.optional_time("revoked_at");
  info.revoked_by = members.text("revoked_by");
  token.sha256 = members.text("sha256");
  members.require(token.sha256.size() == kSha256Digits);
  if (!members.good()) return std::nullopt;
  return token;
}

std::unexpected<Error> unreadable() {
  return fail(ErrorCode::kStoreDamaged, "the document of access tokens cannot be read", "engine.tokens");
}

}  // namespace

std::string_view name_of(TokenState state) {
  return name_in(kStateNames, state);
}

TokenState state_of(const TokenInfo& token, Time now) {
  if (token.revoked_at) return TokenState::kRevoked;
  return token.expires_at && *token.expires_at <= now ? TokenState::kExpired : TokenState::kActive;
}

std::string to_json(const TokenInfo& token) {
  json::Writer out;
  out.begin_object();
  put_info(out, token);
  out.end_object();
  return std::move(out).take();
}

JsonText to_json(const TokenDocument& document) {
  json::Writer out;
  out.begin_object().key("tokens").begin_array();
  for (const auto& [id, token] : document.tokens) {
    out.begin_object();
    put_info(out, token.info);
    out.key("sha256").string(token.sha256).end_object();
  }
  out.end_array().end_object();
  return std::move(out).take();
}

Result<TokenDocument> parse_token_document(std::int64_t version, std::string_view text) {
  TokenDocument document{.version = version};
  if (text == "{}") return document;
  const auto value = json::parse(text);
  const json::Value* tokens = value ? value->find("tokens") : nullptr;
  const json::Value::Array* items = tokens != nullptr ? tokens->as_array() : nullptr;
  if (items == nullptr) return unreadable();
  for (const json::Value& item : *items) {
    auto token = read_token(item);
    // Leaving one out would delete it with the next change.
    if (!token) return unreadable();
    std::string id = token->info.id;
    document.tokens.emplace(std::move(id), *std::move(token));
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
