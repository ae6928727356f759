#include "engine/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/try.h"
#include "core/believed_time.h"
#include "core/spec_check.h"
#include "engine/engine.h"
#include "engine/spec.h"

namespace drover {

namespace {

constexpr Millis kUseEvery = std::chrono::minutes(1);

using Told = TokenBook::Told;

std::unexpected<Error> invalid(std::string_view message) {
  return fail(ErrorCode::kInvalidArgument, std::string(message));
}

bool has_owner(Role role) {
  switch (role) {
    case Role::kViewer:
    case Role::kProducer:
      return true;
    case Role::kWorker:
    case Role::kOperator:
    case Role::kAdmin:
      return false;
  }
  return false;
}

Status check_queues(const NewToken& order) {
  if (order.queues.empty()) return {};
  if (order.role != Role::kWorker)
    return invalid(
        fmt::format("queues: a token of the role {} cannot have queues; only a worker's can", name_of(order.role)));
  if (order.queues.size() > kTokenQueuesMax)
    return invalid(fmt::format("queues: {} is too many for one token; name at most {}, or none to allow all",
                               order.queues.size(), kTokenQueuesMax));
  for (const std::string& queue : order.queues) {
    if (const Status checked = check_name(queue); !checked) return at_field("queues", checked.error());
  }
  return {};
}

Status check_owner(const NewToken& order) {
  if (!order.owner) return {};
  if (!has_owner(order.role))
    return invalid(
        fmt::format("owner: a token of the role {} cannot have an owner; only a viewer's or a producer's can",
                    name_of(order.role)));
  if (const Status checked = check_name(*order.owner); !checked) return at_field("owner", checked.error());
  return {};
}

Status check_order(const NewToken& order) {
  TRY(check_owner(order));
  TRY(check_queues(order));
  TRY(check_words("who", order.by));
  if (!is_utf8(order.note) || order.note.size() > kTokenNoteBytesMax)
    return invalid(fmt::format("note: expected UTF-8 of at most {} bytes", kTokenNoteBytesMax));
  if (order.expires_in && (*order.expires_in <= Millis{0} || *order.expires_in > kDurationMax))
    return invalid(
        fmt::format("expires_in: expected a duration above 0 and at most {}", format_duration(kDurationMax)));
  return {};
}

TokenInfo info_of(const NewToken& order, Time now) {
  TokenInfo info{.role = order.role,
                 .owner = order.owner,
                 .queues = order.queues,
                 .note = order.note,
                 .created_by = order.by,
                 .created_at = now};
  if (order.expires_in) info.expires_at = now + *order.expires_in;
  if (has_owner(order.role) && !info.owner) info.owner = kDefaultOwner;
  std::ranges::sort(info.queues);
  const auto repeated = std::ranges::unique(info.queues);
  info.queues.erase(repeated.begin(), repeated.end());
  return info;
}

// When a token ended; none while it is active.
std::optional<Time> ended_at(const TokenInfo& token, Time now) {
  switch (state_of(token, now)) {
    case TokenState::kActive:
      return std::nullopt;
    case TokenState::kExpired:
      return token.expires_at;
    case TokenState::kRevoked:
      return token.revoked_at;
  }
  return std::nullopt;
}

// Forgets tokens that ended long ago, and the oldest of too many. `long_ago` is no time of a clock that somebody has
// just set: that would forget tokens that are good again when the clock is.
void forget_ended(TokenDocument& document, Time now, Time long_ago) {
  std::vector<std::pair<Time, std::string>> ended;
  for (const auto& [id, token] : document.tokens) {
    if (const auto at = ended_at(token.info, now)) ended.emplace_back(*at, id);
  }
  std::ranges::sort(ended, std::greater());
  for (std::size_t i = 0; i < ended.size(); ++i) {
    if (i >= kTokensMax || ended[i].first < long_ago) document.tokens.erase(ended[i].second);
  }
  // Nobody misses these.
  std::erase_if(document.codes, [&](const StoredCode& code) { return code.expires_at <= now; });
  std::erase_if(document.signins, [&](const auto& entry) { return !signin_info(document, entry.second.record, now); });
}

void put_later(std::map<std::string, Time>& uses, const std::string& id, Time at) {
  Time& latest = uses[id];
  latest = std::max(latest, at);
}

// Whether it is worth writing.
bool moves(const std::optional<Time>& last, Time at) {
  return !last || at - *last >= kUseEvery;
}

std::size_t count_active(const TokenDocument& document, Time now) {
  return static_cast<std::size_t>(std::ranges::count_if(
      document.tokens, [&](const auto& entry) { return state_of(entry.second.info, now) == TokenState::kActive; }));
}

EventDraft created_event(const TokenInfo& token) {
  json::Writer data;
  data.begin_object().key("token_id").string(token.id).key("role").string(name_of(token.role)).key("owner");
  token.owner ? data.string(*token.owner) : data.null();
  data.key("by").string(token.created_by).end_object();
  return {.name = "token.created", .data = std::move(data).take()};
}

EventDraft revoked_event(const TokenInfo& token) {
  json::Writer data;
  data.begin_object().key("token_id").string(token.id).key("by").string(token.revoked_by).end_object();
  return {.name = "token.revoked", .data = std::move(data).take()};
}

}  // namespace

Status TokenBook::update(const Change& change) {
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    auto document = TRY(read());
    const auto now = TRY(store_.now());
    const Told told = TRY(change(document, now));
    if (!told) return {};
    const auto clock = TRY(store_.document(DocumentKind::kBelievedTime));
    const auto believed = parse_believed_time(clock.text);
    forget_ended(document, now, believed ? end_of_age(*believed, kEndedTokensKept) : Time::min());
    const auto written =
        TRY(store_.put_document(DocumentKind::kAccessTokens, to_json(document), document.version, *told));
    if (written) return {};
  }
  return fail(ErrorCode::kStoreUnavailable, "others keep changing the tokens; try again", "engine.tokens");
}

Result<CreatedToken> TokenBook::create(const NewToken& order) {
  CreatedToken created;
  const Status done = update([&](TokenDocument& document, Time now) -> Result<Told> {
    TRY(check_order(order));
    if (count_active(document, now) >= kTokensMax)
      return fail(ErrorCode::kLimitExceeded,
                  fmt::format("there are {} tokens already, and no more are allowed: revoke some", kTokensMax));
    created.info = info_of(order, now);
    do {
      created.info.id = new_token_id(rng_);
    } while (document.tokens.contains(created.info.id));
    created.text = new_token_text(rng_, created.info.id);
    document.tokens[created.info.id] = {.info = created.info, .sha256 = sha256_hex(created.text)};
    return Told{{created_event(created.info)}};
  });
  TRY(done);
  return created;
}

Result<std::vector<TokenInfo>> TokenBook::list() {
  const auto document = TRY(read());
  std::vector<TokenInfo> tokens;
  for (const auto& [id, token] : document.tokens) tokens.push_back(token.info);
  std::ranges::sort(tokens, [](const TokenInfo& a, const TokenInfo& b) {
    return std::tie(b.created_at, a.id) < std::tie(a.created_at, b.id);
  });
  return tokens;
}

Result<TokenInfo> TokenBook::revoke(const std::string& id, const std::string& by) {
  TRY(check_words("who", by));
  TokenInfo revoked;
  const Status done = update([&](TokenDocument& document, Time now) -> Result<Told> {
    const auto found = document.tokens.find(id);
    if (found == document.tokens.end())
      return fail(ErrorCode::kNotFound, fmt::format("there is no token {}", quoted_excerpt(id)));
    TokenInfo& info = found->second.info;
    revoked = info;
    if (info.revoked_at) return Told();
    info.revoked_at = now;
    info.revoked_by = by;
    revoked = info;
    return Told{{revoked_event(info)}};
  });
  TRY(done);
  return revoked;
}

Result<TokenDocument> TokenBook::read() {
  const auto stored = TRY(store_.document(DocumentKind::kAccessTokens));
  return parse_token_document(stored.version, stored.text);
}

void TokenBook::note_use(const Principal& who, Time at) {
  const std::lock_guard lock(mutex_);
  put_later(uses_.tokens, who.token_id, at);
  if (!who.signin_id.empty()) put_later(uses_.signins, who.signin_id, at);
}

TokenBook::Uses TokenBook::take_uses() {
  const std::lock_guard lock(mutex_);
  return std::exchange(uses_, {});
}

void TokenBook::put_back(const Uses& uses) {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, at] : uses.tokens) put_later(uses_.tokens, id, at);
  for (const auto& [id, at] : uses.signins) put_later(uses_.signins, id, at);
}

Status TokenBook::write_uses() {
  const Uses uses = take_uses();
  if (uses.tokens.empty()) return {};
  const Status done = update([&](TokenDocument& document, Time /*now*/) -> Result<Told> {
    Told told;
    for (const auto& [id, at] : uses.tokens) {
      const auto found = document.tokens.find(id);
      if (found == document.tokens.end() || !moves(found->second.info.last_used_at, at)) continue;
      found->second.info.last_used_at = at;
      told.emplace();
    }
    for (const auto& [id, at] : uses.signins) {
      const auto found = document.signins.find(id);
      if (found == document.signins.end() || !moves(found->second.record.last_used_at, at)) continue;
      found->second.record.last_used_at = at;
      told.emplace();
    }
    return told;
  });
  if (!done) put_back(uses);
  return done;
}

}  // namespace drover
