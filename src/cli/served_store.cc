#include "cli/served_store.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/log.h"
#include "base/try.h"

namespace drover::cli {
namespace {

// What the process opens beside its connections: files, pipes of agents, connections to a store.
constexpr std::size_t kOtherFiles = 256;
constexpr Millis kNever{60'000};

// Every connection is a descriptor.
std::size_t connections_within_file_limit(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  const auto files = static_cast<std::size_t>(limit.rlim_cur);
  return std::min(wanted, std::max(files, 2 * kOtherFiles) - kOtherFiles);
}

// What was held for clients a moment ago must not stay with the process. By default the allocator learns from large
// requests to keep them, and each thread keeps its own.
void give_large_memory_back() {
#ifdef __GLIBC__
  constexpr int kLargeBytes = 128 * 1024;
  constexpr int kArenas = 4;
  ::mallopt(M_MMAP_THRESHOLD, kLargeBytes);
  ::mallopt(M_TRIM_THRESHOLD, kLargeBytes);
  ::mallopt(M_ARENA_MAX, kArenas);
#endif
}

server::ServerOptions server_options_of(const ServeOptions& options, const ServerName& name,
                                        const Environment& environment) {
  server::ServerOptions server_options{.hosts = options.hosts, .insecure = options.insecure};
  if (!options.listen.empty()) {
    server_options.listen = options.listen;
  } else if (const std::string* address = environment.find("DROVER_LISTEN")) {
    server_options.listen = {*address};
  }
  server_options.audit_log = options.audit_log;
  server_options.version = DROVER_VERSION;
  server_options.public_url = options.public_url;
  server_options.name = {.name = options.name ? options.name : name.name, .colour = name.colour};
  server_options.mcp_allowed = allowed_of(options.mcp_allow);
  if (options.rate) {
    const double rate = *options.rate;
    server_options.limits.by_token = {.per_second = rate, .burst = 2 * rate};
  }
  if (options.tls_certificate && options.tls_key) {
    server_options.tls = {.certificate = *options.tls_certificate, .key = *options.tls_key};
  }
  server_options.connections_max = connections_within_file_limit(server_options.connections_max);
  return server_options;
}

Result<std::string> read_server_name(std::string_view text) {
  TRY(check_server_name(text));
  return std::string(text);
}

// A server that listens everywhere is here, too.
std::optional<std::string> browser_url_of(const server::ServerOptions& options,
                                          const std::vector<std::string>& addresses) {
  if (const auto& url = options.public_url) return fmt::format("{}://{}{}", url->scheme, url->host, url->path);
  for (const std::string& address : addresses) {
    if (!address.starts_with("http")) continue;
    for (const std::string_view everywhere : {"://0.0.0.0:", "://[::]:"}) {
      const std::size_t at = address.find(everywhere);
      if (at == std::string::npos) continue;
      const std::string& host = options.hosts.empty() ? std::string("localhost") : options.hosts.front();
      return fmt::format("{}://{}:{}", address.substr(0, at), host, address.substr(at + everywhere.size()));
    }
    return address;
  }
  return std::nullopt;
}

void renew_certificate(server::Server& server) {
  if (const Status renewed = server.renew_certificate(); !renewed) {
    log_error("serve", "keeps the old certificate", {{"error", to_string(renewed.error())}});
  } else {
    log_info("serve", "read the certificate again");
  }
}

}  // namespace

void define_server(Verb& verb, ServeOptions& options) {
  verb.list("--listen", "ADDRESS", &options.listen, read_text,
            "HOST:PORT or unix:PATH; else DROVER_LISTEN, else 127.0.0.1:7711")
      .several();
  verb.list("--host", "NAME", &options.hosts, read_host, "a name that clients use for this server").several();
  verb.value("--tls-cert", "FILE", &options.tls_certificate, read_text,
             "a certificate with its chain (PEM); SIGHUP reads it again");
  verb.value("--tls-key", "FILE", &options.tls_key, read_text, "its key (PEM)");
  verb.flag("--insecure", &options.insecure, true, "listen for other machines without TLS");
  verb.value("--audit-log", "FILE", &options.audit_log, read_text,
             "record who changed what and who was refused; default: no log");
  verb.value("--rate", "N", &options.rate, integer_between({1, 1'000'000'000}),
             "requests per second for each token; default 100000");
  verb.value("--public-url", "URL", &options.public_url, server::parse_public_url,
             "where browsers find this server behind a reverse proxy: https://example.org/drover");
  verb.value("--name", "NAME", &options.name, read_server_name,
             "what the dashboard calls this server; default: local.server.name of drover.yaml");
  define_mcp_allowances(verb, "--mcp-", &options.mcp_allow);
  verb.check([&options]() -> Status {
    if (options.tls_certificate.has_value() == options.tls_key.has_value()) return {};
    return complaint("--tls-cert and --tls-key", "give both, or neither");
  });
}

Result<ServerToBe> ServerToBe::prepare(const ServeOptions& options, const ServerName& name,
                                       const Environment& environment) {
  ServerToBe server;
  server.options_ = server_options_of(options, name, environment);
  server.premises_ = TRY(server::take_premises(server.options_));
  return server;
}

ServedStore::ServedStore(OpenedQueue& opened, const std::string& url, TokenBook& tokens, ServerToBe server,
                         const Environment& environment)
    : keeper_(tokens), manager_(environment) {
  give_large_memory_back();
  // Otherwise a closed terminal ends the process, as it ends any program.
  if (server.options_.tls || manager_.is_there()) hangups_.emplace();
  server_ = server::Server::start(opened.queue(), opened.administration(), keeper_, server.options_,
                                  std::move(server.premises_));
  browser_url_ = browser_url_of(server.options_, server_->addresses());
  if (browser_url_) note_.emplace(url, *browser_url_, environment);
  caretaker_ = std::jthread([this](const std::stop_token& stop) { look_after(stop); });
  manager_.tell_ready();
}

ServedStore::~ServedStore() {
  manager_.tell_stopping();
  caretaker_.request_stop();
  stopping_.wake();
}

void ServedStore::look_after(const std::stop_token& stop) {
  block_signals_in_this_thread();
  const Waker nobody;
  while (!stop.stop_requested()) {
    wait_for_wake(stopping_, hangups_ ? hangups_->waker() : nobody, manager_.alive_every().value_or(kNever));
    if (manager_.alive_every() && server_->is_alive()) manager_.tell_alive();
    if (Hangups::take()) renew_certificate(*server_);
  }
}

}  // namespace drover::cli
