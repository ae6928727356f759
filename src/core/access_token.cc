#include "core/access_token.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/try.h"
#include "core/names.h"

namespace drover {
namespace {

constexpr Names<3> kStateNames{"active", "expired", "revoked"};

void put(json::Writer& out, std::string_view key, const std::optional<Time>& time) {
  out.key(key);
  time ? out.string(format_time(*time)) : out.null();
}

}  // namespace

std::string_view name_of(TokenState state) {
  return name_in(kStateNames, state);
}

TokenState state_of(const TokenInfo& token, Time now) {
  if (token.revoked_at) return TokenState::kRevoked;
  return token.expires_at && *token.expires_at <= now ? TokenState::kExpired : TokenState::kActive;
}

void put_members(json::Writer& out, const TokenInfo& token) {
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

Status read_json(std::string_view json, Role& out) {
  std::string name;
  TRY(json::read_json(json, name));
  const auto role = parse_role(name);
  if (!role) return fail(ErrorCode::kInvalidArgument, fmt::format("unknown role {}", quoted_excerpt(name)));
  out = *role;
  return {};
}

void read_members(json::Reader& in, TokenInfo& out) {
  in.need("id", out.id).need("role", out.role).need("owner", out.owner).need("queues", out.queues);
  in.need("note", out.note).need("created_by", out.created_by).need("created_at", out.created_at);
  in.need("expires_at", out.expires_at).need("last_used_at", out.last_used_at);
  in.need("revoked_at", out.revoked_at).need("revoked_by", out.revoked_by);
}

std::string to_json(const TokenInfo& token) {
  json::Writer out;
  out.begin_object();
  put_members(out, token);
  out.end_object();
  return std::move(out).take();
}

Status read_json(std::string_view json, TokenInfo& out) {
  json::Reader in(json);
  read_members(in, out);
  return in.finish();
}

std::string to_json(const CreatedToken& created) {
  json::Writer out;
  out.begin_object().key("token").string(created.text);
  put_members(out, created.info);
  out.end_object();
  return std::move(out).take();
}

Status read_json(std::string_view json, CreatedToken& out) {
  json::Reader in(json);
  in.need("token", out.text);
  read_members(in, out.info);
  return in.finish();
}

}  // namespace drover
