// The verbs that run things.
#include "cli/grammar.h"
#include "worker/lease_keeper.h"

namespace drover::cli {
namespace {

void add_work(Verbs& verbs) {
  auto [verb, options] = verbs.add<WorkOptions>("work");
  verb.list("--type", "T", &options->types, read_name, "serve the queue named T, only this type").several();
  verb.list("--queue", "Q", &options->queues, read_name, "serve this queue: all types, or those with a runner profile")
      .several();
  verb.value("--concurrency", "N", &options->concurrency, integer_between(kConcurrencyBounds),
             "how many at once; default 1, or the sum of the profiles'");
  verb.flag("--until-empty", &options->until_empty, true, "end when nothing is left to do");
  verb.value("--lease", "D", &options->lease, read_lease, "how long a silent worker keeps its tasks; default 30s");
  const OptionHandle heartbeat = verb.value("--heartbeat", "D", &options->heartbeat, read_time_limit,
                                            "how often leases are renewed; default 5s, or a sixth of a shorter lease");
  verb.takes_command(&options->argv);
  verb.check([heartbeat, options = options]() -> Status {
    if (options->types.empty() && options->queues.empty()) return complaint("--type or --queue", "say what to serve");
    if (!heartbeat.given()) options->heartbeat = std::min(options->heartbeat, options->lease / 6);
    if (const Status valid = check_heartbeat(options->lease, options->heartbeat); !valid)
      return complaint("--heartbeat", valid.error().message);
    return {};
  });
}

// Of every verb that has a server in it.
void add_server_options(Verb verb, ServeOptions* options) {
  verb.list("--listen", "ADDRESS", &options->listen, read_text,
            "HOST:PORT or unix:PATH; else DROVER_LISTEN, else 127.0.0.1:7711")
      .several();
  verb.list("--host", "NAME", &options->hosts, read_host, "a name by which clients call this server").several();
  verb.value("--tls-cert", "FILE", &options->tls_certificate, read_text,
             "a certificate with its chain (PEM); SIGHUP reads it again");
  verb.value("--tls-key", "FILE", &options->tls_key, read_text, "its key (PEM)");
  verb.flag("--insecure", &options->insecure, true, "listen for other machines without TLS");
  verb.value("--audit-log", "FILE", &options->audit_log, read_text,
             "append who changed what, and who was refused; default: no such log");
  verb.value("--rate", "N", &options->rate, integer_between({1, 1'000'000'000}),
             "requests a second of one token; default 100000");
  verb.check([options]() -> Status {
    if (options->tls_certificate.has_value() == options->tls_key.has_value()) return {};
    return complaint("--tls-cert and --tls-key", "give both");
  });
}

void add_up(Verbs& verbs) {
  auto [verb, options] = verbs.add<UpOptions>("up");
  add_server_options(verb, &options->serve);
}

void add_serve(Verbs& verbs) {
  auto [verb, options] = verbs.add<ServeOptions>("serve");
  add_server_options(verb, options);
}

void add_progress(Verbs& verbs) {
  auto [verb, options] = verbs.add<ProgressOptions>("progress");
  verb.value("PERCENT", "", &options->percent, integer_between({0, 100}), "0 to 100").required();
  verb.value("MESSAGE", "", &options->message, read_text, "what is being done");
}

}  // namespace

void add_running_verbs(Verbs& verbs) {
  add_up(verbs);
  add_serve(verbs);
  add_work(verbs);
  add_progress(verbs);
}

}  // namespace drover::cli
