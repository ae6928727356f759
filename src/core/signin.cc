#include "core/signin.h"

namespace drover {

std::string to_json(const SigninCode& code) {
  json::Writer out;
  out.begin_object().key("code").string(code.code).key("expires_at").string(format_time(code.expires_at));
  out.key("url").string(code.url).end_object();
  return std::move(out).take();
}

Status read_json(std::string_view json, SigninCode& out) {
  json::Reader in(json);
  in.need("code", out.code).need("expires_at", out.expires_at).need("url", out.url);
  return in.finish();
}

void put_members(json::Writer& out, const SigninRecord& signin) {
  out.key("id").string(signin.id).key("token_id").string(signin.token_id).key("from").string(signin.from);
  out.key("user_agent").string(signin.user_agent).key("created_at").string(format_time(signin.created_at));
  out.key("last_used_at").string(format_time(signin.last_used_at));
}

void read_members(json::Reader& in, SigninRecord& out) {
  in.need("id", out.id).need("token_id", out.token_id).need("from", out.from).need("user_agent", out.user_agent);
  in.need("created_at", out.created_at).need("last_used_at", out.last_used_at);
}

}  // namespace drover
