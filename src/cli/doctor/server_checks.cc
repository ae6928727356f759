// A server in front of the store: whether it answers, how it is reached, and who we are there.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "cli/doctor/line.h"
#include "cli/project.h"
#include "remote/server_probe.h"

namespace drover::cli {
namespace {

bool is_this_machine(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

DoctorLine transport_line(const ServerAddress& address) {
  DoctorLine line{.check = "transport", .subject = address.endpoint.url};
  switch (address.endpoint.transport) {
    case Endpoint::Transport::kUnix:
      line.detail = "a socket of this machine";
      return line;
    case Endpoint::Transport::kTls:
      line.detail = "TLS";
      return line;
    case Endpoint::Transport::kTcp:
      break;
  }
  if (is_this_machine(address.endpoint.host)) {
    line.detail = "plain HTTP on this machine";
    return line;
  }
  line.level = DoctorLevel::kWarn;
  line.detail = "plain HTTP to another machine: anyone in between can read the token";
  line.fix = "there: drover serve --tls-cert FILE --tls-key FILE; here: --store https://HOST:PORT";
  return line;
}

DoctorLine ready_line(const ServerAddress& address, const Result<std::vector<std::string>>& reasons) {
  DoctorLine line{.check = "server", .subject = address.endpoint.url, .detail = "answers, and is ready"};
  if (reasons && reasons->empty()) return line;
  line.level = DoctorLevel::kFail;
  line.detail =
      reasons ? fmt::format("answers, but is not ready: {}", fmt::join(*reasons, "; ")) : reasons.error().message;
  line.fix = reasons ? "run drover doctor on its machine, and read its log"
                     : "start it (drover serve), or name another: --store URL";
  return line;
}

std::string role_text(const Introduction& known) {
  std::string text(name_of(known.role));
  if (known.owner) text += " of " + *known.owner;
  if (!known.queues.empty()) text += fmt::format(" of {}", fmt::join(known.queues, ", "));
  return text;
}

DoctorLine token_line(const Result<Introduction>& introduction) {
  if (!introduction) {
    return not_checked("token", introduction.error(),
                       "ask for one (drover token create --role ROLE), then set DROVER_TOKEN or --token-file FILE");
  }
  return {.check = "token", .subject = introduction->token_id, .detail = role_text(*introduction)};
}

DoctorLine server_version_line(const Introduction& introduction) {
  DoctorLine line{.check = "server_version", .detail = fmt::format("drover {}, as here", introduction.version)};
  if (introduction.version == DROVER_VERSION) return line;
  line.level = DoctorLevel::kWarn;
  line.detail = fmt::format("the server runs drover {}, this is {}", introduction.version, DROVER_VERSION);
  line.fix = "install the newer of the two on both sides";
  return line;
}

void check_one(const std::string& url, const std::string& token, DoctorLines& lines) {
  const auto address = parse_server_url(url);
  if (!address) return;  // opening it says what is wrong with the URL
  const auto reasons = ask_readiness(*address, kServerPatience);
  lines.push_back(ready_line(*address, reasons));
  if (!reasons) return;
  lines.push_back(transport_line(*address));
  const auto introduction = ask_introduction({.url = url, .token = token, .timeout = kServerPatience});
  lines.push_back(token_line(introduction));
  if (introduction) lines.push_back(server_version_line(*introduction));
}

}  // namespace

void check_servers(const std::string& urls, const std::string& token, DoctorLines& lines) {
  for (const auto url : urls | std::views::split(',')) check_one(std::string(url.begin(), url.end()), token, lines);
}

}  // namespace drover::cli
