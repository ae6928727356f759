// drover serve: the queue for clients and workers elsewhere.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "cli/project.h"
#include "cli/served_store.h"
#include "cli/verb.h"

namespace drover::cli {
namespace {

// The usual limit is 1,024 though many more are allowed. Not for `drover up`: its agents would inherit it.
void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    log_warn("serve", "cannot raise the limit of open files", {{"error", std::strerror(errno)}});
  }
}

int run(const ServeOptions& options, Context& context) {
  const auto project = find_project(context);
  if (!project) return context.fail(project.error());
  configure_log(log_level_of(context, *project, LogLevel::kInfo), LogFormat::kAuto);
  raise_file_limit();
  auto server = ServerToBe::prepare(options, server_name_of(*project), context.environment);
  if (!server) return context.fail(server.error());
  const auto url = choose_store(context);
  if (!url) return context.fail(url.error());
  const auto opened = open_own_store(context);
  if (!opened) return context.fail(opened.error());
  const UpkeepThread upkeep(**opened);
  StopSignal stop;
  const Interrupts interrupts({&stop});
  TokenBook tokens((*opened)->store(), system_rng());
  const ServedStore served(**opened, *url, tokens, *std::move(server), context.environment);
  context.say(fmt::format("serving on {}; Ctrl-C stops", fmt::join(served.addresses(), ", ")));
  const Waker nobody;
  while (stop.requests() == 0) wait_for_wake(stop.waker(), nobody, Millis::max());
  context.say("stopping after the requests that are being answered");
  return kExitOk;
}

}  // namespace

void add_serve(Verbs& verbs) {
  verbs.add<ServeOptions>(
      {.name = "serve",
       .summary = "Serve the queue to programs and workers on other machines, over REST",
       .footer =
           R"(Runs until SIGINT or SIGTERM and does the store's upkeep. Every caller needs a token; create one on this machine with
`drover token create`. Commands and workers elsewhere use the server with --store http://HOST:PORT and DROVER_TOKEN. An
address that other machines can reach needs TLS or --insecure. `drover dashboard` prints a link that signs you in.

Examples:
  drover serve
  drover serve --listen 0.0.0.0:7711 --host queue.example.org --tls-cert queue.pem --tls-key queue.key
  DROVER_TOKEN=$(drover token create --role operator) drover --store http://127.0.0.1:7711 list)"},
      define_server, run);
}

}  // namespace drover::cli
