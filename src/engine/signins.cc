#include "engine/signins.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/try.h"

namespace drover {
namespace {

using Told = TokenBook::Told;

EventDraft event_of(std::string_view name, const SigninRecord& signin) {
  json::Writer data;
  data.begin_object().key("signin_id").string(signin.id).key("token_id").string(signin.token_id);
  data.key("from").string(signin.from).end_object();
  return {.name = std::string(name), .data = std::move(data).take()};
}

std::unexpected<Error> too_many(std::string_view what, std::size_t max) {
  return fail(ErrorCode::kLimitExceeded, fmt::format("there are {} {} already, and no more are allowed", max, what));
}

// The token's id. The code is used up.
Result<std::string> take_code(TokenDocument& document, std::string_view code, Time now) {
  const std::string sha256 = sha256_hex(code);
  const auto found =
      std::ranges::find_if(document.codes, [&](const StoredCode& one) { return is_same_secret(one.sha256, sha256); });
  if (found == document.codes.end() || found->expires_at <= now) {
    return fail(ErrorCode::kUnauthorised,
                "this code is not valid: it works once, within ten minutes; `drover dashboard` makes another");
  }
  std::string token_id = found->token_id;
  document.codes.erase(found);
  return token_id;
}

Result<std::string> token_behind(TokenDocument& document, const NewSignin& order, Time now) {
  if (order.code) return take_code(document, *order.code, now);
  const auto principal = TRY(find_principal(document, order.token.value_or(""), now));
  return principal.token_id;
}

// The sign-in that makes room for another one of this token, if one has to.
std::optional<SigninRecord> make_room(TokenDocument& document, std::string_view token_id) {
  std::vector<const SigninRecord*> own;
  for (const auto& [id, signin] : document.signins) {
    if (signin.record.token_id == token_id) own.push_back(&signin.record);
  }
  if (own.size() < kSigninsOfTokenMax) return std::nullopt;
  SigninRecord ended = **std::ranges::min_element(own, {}, [](const SigninRecord* one) { return one->last_used_at; });
  document.signins.erase(ended.id);
  return ended;
}

// What a browser calls itself, as far as it is shown: no longer than allowed, and UTF-8.
std::string shown_agent(std::string_view text) {
  std::string shown;
  for (std::string rest = to_utf8(text); !rest.empty();) {
    const std::size_t bytes = utf8_step(rest).bytes;
    if (shown.size() + bytes > kSigninAgentBytesMax) break;
    shown.append(rest, 0, bytes);
    rest.erase(0, bytes);
  }
  return shown;
}

}  // namespace

Result<SigninCode> SigninBook::create_code(const std::string& token_id) {
  SigninCode made;
  const Status done = tokens_.update([&](TokenDocument& document, Time now) -> Result<Told> {
    const auto token = document.tokens.find(token_id);
    if (token == document.tokens.end() || state_of(token->second.info, now) != TokenState::kActive) {
      return fail(ErrorCode::kNotFound, fmt::format("there is no valid token {}", quoted_excerpt(token_id)));
    }
    const auto is_own = [&](const StoredCode& code) { return code.token_id == token_id; };
    if (std::cmp_greater_equal(std::ranges::count_if(document.codes, is_own), kSigninCodesOfTokenMax)) {
      document.codes.erase(std::ranges::find_if(document.codes, is_own));
    }
    if (document.codes.size() >= kSigninCodesMax) return too_many("sign-in codes", kSigninCodesMax);
    made = {.code = new_signin_code(rng_), .expires_at = now + kSigninCodeKept, .url = {}};
    document.codes.push_back({.sha256 = sha256_hex(made.code), .token_id = token_id, .expires_at = made.expires_at});
    return Told{std::in_place};
  });
  TRY(done);
  return made;
}

Result<CreatedSignin> SigninBook::sign_in(const NewSignin& order) {
  CreatedSignin created;
  const Status done = tokens_.update([&](TokenDocument& document, Time now) -> Result<Told> {
    auto token_id = TRY(token_behind(document, order, now));
    SigninRecord record{.id = {},
                        .token_id = std::move(token_id),
                        .from = order.from,
                        .user_agent = shown_agent(order.user_agent),
                        .created_at = now,
                        .last_used_at = now};
    std::vector<EventDraft> told;
    if (const auto ended = make_room(document, record.token_id)) told.push_back(event_of("signin.ended", *ended));
    if (document.signins.size() >= kSigninsMax) return too_many("sign-ins", kSigninsMax);
    do {
      record.id = new_token_id(rng_);
    } while (document.signins.contains(record.id));
    const auto info = signin_info(document, record, now);
    if (!info) return fail(ErrorCode::kUnauthorised, "the token behind this code is no longer valid");
    created = {.info = *info, .cookie = new_secret(rng_), .secret = record.id + "_" + new_secret(rng_)};
    document.signins[record.id] = {.record = record, .sha256 = sha256_hex(signin_text(created.cookie, created.secret))};
    told.push_back(event_of("signin.created", record));
    return Told{std::move(told)};
  });
  TRY(done);
  return created;
}

Result<std::vector<SigninInfo>> SigninBook::list() {
  const auto document = TRY(tokens_.read());
  const auto now = TRY(tokens_.now());
  std::vector<SigninInfo> signins;
  for (const auto& [id, signin] : document.signins) {
    if (auto info = signin_info(document, signin.record, now)) signins.push_back(*std::move(info));
  }
  std::ranges::stable_sort(signins, std::greater(), [](const SigninInfo& one) { return one.record.last_used_at; });
  return signins;
}

Status SigninBook::end(const std::string& id, const std::optional<std::string>& of_token) {
  return tokens_.update([&](TokenDocument& document, Time now) -> Result<Told> {
    const auto found = document.signins.find(id);
    const bool is_there = found != document.signins.end() && signin_info(document, found->second.record, now) &&
                          (!of_token || found->second.record.token_id == *of_token);
    if (!is_there) return fail(ErrorCode::kNotFound, fmt::format("there is no sign-in {}", quoted_excerpt(id)));
    const SigninRecord ended = found->second.record;
    document.signins.erase(found);
    return Told{{event_of("signin.ended", ended)}};
  });
}

}  // namespace drover
