// drover serve: the queue for clients and workers elsewhere.
#include "server/server.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "cli/project.h"
#include "cli/service_manager.h"
#include "cli/verbs.h"
#include "cli/watch.h"
#include "engine/tokens.h"
#include "server/token_keeper.h"

namespace drover::cli {
namespace {

constexpr Millis kBetweenWritesOfUses{60'000};

void renew_certificate(server::Server& server) {
  if (const Status renewed = server.renew_certificate(); !renewed) {
    log_error("serve", "keeps the old certificate", {{"error", to_string(renewed.error())}});
  } else {
    log_info("serve", "read the certificate again");
  }
}

// Until a signal comes. When tokens were last used is written now and then.
void serve_until_stopped(const StopSignal& stop, const Waker& hangup, const ServiceManager& manager,
                         server::Server& server, TokenBook& tokens) {
  auto written_at = system_clock().mono();
  while (stop.requests() == 0) {
    wait_for_wake(stop.waker(), hangup, std::min(kBetweenWritesOfUses, manager.alive_every().value_or(Millis::max())));
    if (manager.alive_every() && server.is_alive()) manager.tell_alive();
    if (Hangups::take()) renew_certificate(server);
    const auto now = system_clock().mono();
    if (now - written_at < kBetweenWritesOfUses) continue;
    written_at = now;
    if (const Status written = tokens.write_uses(); !written) {
      log_warn("serve", "cannot note when tokens were used", {{"error", to_string(written.error())}});
    }
  }
}

// Every connection is a descriptor, and the usual limit is 1,024 of them though many more are allowed.
void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    log_warn("serve", "cannot raise the limit of open files", {{"error", std::strerror(errno)}});
  }
}

server::ServerOptions server_options_of(const ServeOptions& options) {
  server::ServerOptions server_options{.hosts = options.hosts, .insecure = options.insecure};
  if (!options.listen.empty()) server_options.listen = options.listen;
  server_options.audit_log = options.audit_log;
  if (options.rate) {
    const double rate = *options.rate;
    server_options.limits.by_token = {.per_second = rate, .burst = 2 * rate};
  }
  if (options.tls_certificate) server_options.tls = {.certificate = *options.tls_certificate, .key = *options.tls_key};
  return server_options;
}

}  // namespace

int run(const ServeOptions& options, Context& context) {
  const auto project = find_project(context);
  if (!project) return context.fail(project.error());
  configure_log(log_level_of(context, *project, LogLevel::kInfo), LogFormat::kAuto);
  const auto opened = open_own_store(context);
  if (!opened) return context.fail(opened.error());
  TokenBook tokens((*opened)->store(), system_rng());
  server::TokenKeeper keeper(tokens);
  const UpkeepThread upkeep(**opened);
  StopSignal stop;
  const Interrupts interrupts({&stop});
  const ServiceManager manager(context.environment);
  // Otherwise a closed terminal ends the server, as it ends any program.
  std::optional<Hangups> hangups;
  if (options.tls_certificate || manager.is_there()) hangups.emplace();
  const Waker never;
  raise_file_limit();
  const auto server = server::Server::start((*opened)->queue(), keeper, server_options_of(options));
  if (!server) return context.fail(server.error());
  context.say(fmt::format("serving on {}; Ctrl-C stops", fmt::join((*server)->addresses(), ", ")));
  manager.tell_ready();
  serve_until_stopped(stop, hangups ? hangups->waker() : never, manager, **server, tokens);
  manager.tell_stopping();
  context.say("stopping; what was asked is answered first");
  return kExitOk;
}

}  // namespace drover::cli
