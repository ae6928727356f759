// How browsers see a server: its name, the URL that they know it by, and the cookie half of a sign-in.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/server_name.h"
#include "drover/error.h"
#include "net/http.h"

namespace drover::server {

// "https://example.org/drover": what a reverse proxy shows of this server.
struct PublicUrl {
  std::string scheme;  // http or https
  std::string host;    // in lower case, with its port if it has one
  std::string path;    // "/drover"; empty at the root of the host

  bool operator==(const PublicUrl&) const = default;
};
[[nodiscard]] Result<PublicUrl> parse_public_url(std::string_view text);
// The target as this server knows it, whether the proxy has taken the path away or not.
[[nodiscard]] std::string_view without_path(const PublicUrl& url, std::string_view target);

struct Frontage {
  ServerName name = {};
  std::optional<PublicUrl> public_url = {};
  bool has_tls = false;
  std::string address = {};  // the first that browsers can use, as clients name it; empty if there is none
};

// The link that signs a browser in: the code is in the fragment, which is neither sent nor logged.
[[nodiscard]] std::string signin_link(std::string_view server_url, std::string_view code);
// The URL of this server for a browser of whoever sent that request, without a slash at its end; empty if browsers
// cannot reach it.
[[nodiscard]] std::string url_for(const Frontage& front, const HttpRequest& request);

// The value of Set-Cookie. An empty cookie removes it.
[[nodiscard]] std::string set_signin_cookie(const Frontage& front, const HttpRequest& request, std::string_view cookie);
// The text that a doorkeeper knows the caller by: its token, or both halves of its sign-in, wrong ones too; empty if it
// shows nothing.
[[nodiscard]] std::string credentials_of(const HttpRequest& request);
// What was said to be a token. The text of a sign-in is none: its cookie must come as a cookie.
[[nodiscard]] std::string credentials_of_token(std::string_view token);

}  // namespace drover::server
