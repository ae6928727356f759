// The verbs of an operator.
#include "cli/grammar.h"

#include <limits>

namespace drover::cli {
namespace {

void add_events(Verbs& verbs) {
  auto [verb, options] = verbs.add<EventsOptions>("events");
  verb.flag("-f,--follow", &options->follow, true, "go on with what happens next; without --after only that");
  const auto read_seq = [](std::string_view text) {
    return read_integer(text, {0, std::numeric_limits<std::int64_t>::max()});
  };
  verb.value("--after", "SEQ", &options->after, read_seq, "events after this one; 0: from the first");
  verb.value("--limit", "N", &options->limit, integer_between({1, 1'000'000'000}), "show at most N");
  verb.json(&options->format, "print one JSON object a line");
}

void add_fsck(Verbs& verbs) {
  auto [verb, options] = verbs.add<FsckOptions>("fsck");
  verb.flag("--repair", &options->mode, FsckMode::kRepair, "repair what can be repaired");
  verb.json(&options->format, "print a JSON array of findings");
}

void add_transfer(Verbs& verbs) {
  auto [out, out_options] = verbs.add<ExportOptions>("export");
  out_options->file = "-";
  out.value("FILE", "", &out_options->file, read_text, "where to; - is stdout, and the default");
  out.value("--loki", "DIR", &out_options->loki, read_text, "write the queue files of loki-mode there instead");
  auto [in, import] = verbs.add<ImportOptions>("import");
  in.value("FILE", "", &import->file, read_text, "a dump; - is stdin");
  in.value("--loki", "DIR", &import->loki, read_text, "take waiting tasks from the queue files of loki-mode there");
  in.check([import]() -> Status {
    if (import->file.has_value() == import->loki.has_value()) return complaint("FILE and --loki", "give one of them");
    return {};
  });
}

void add_reason(Verb& verb, GateSetOptions* options) {
  verb.value("--reason", "R", &options->reason, read_text, "why; shown to anyone who asks");
  verb.json(&options->format, "print the gate as JSON");
}

void add_closing(Verb& verb, GateSetOptions* options) {
  options->what = GateSetOptions::What::kClose;
  verb.value("--for", "D", &options->close_for, read_time_limit, "only for so long");
  verb.value("--until", "T", &options->close_until, parse_time, "only until this time (RFC 3339)");
  add_reason(verb, options);
  verb.check([options]() -> Status {
    if (options->close_for && options->close_until) return complaint("--for and --until", "give one of them");
    return {};
  });
}

void add_gate_name(Verb& verb, GateSetOptions* options) {
  verb.value("GATE", "", &options->gate, read_gate, "all, queue:Q, type:T, owner:O, lock:K or provider:P").required();
}

void add_gate(Verbs& verbs) {
  Verbs& gate = verbs.family("gate");
  auto [list, list_options] = gate.add<GateListOptions>("list");
  list.formats(&list_options->format, "print a JSON array of gates");
  auto [open, open_options] = gate.add<GateSetOptions>("open");
  add_gate_name(open, open_options);
  add_reason(open, open_options);
  auto [close, close_options] = gate.add<GateSetOptions>("close");
  add_gate_name(close, close_options);
  add_closing(close, close_options);
  auto [limit, limit_options] = gate.add<GateSetOptions>("limit");
  limit_options->what = GateSetOptions::What::kLimit;
  add_gate_name(limit, limit_options);
  limit
      .value("PERMITS", "", &limit_options->permits, read_permits,
             "how many may run at once; none: no limit by hand any more")
      .required();
  add_reason(limit, limit_options);
}

void add_queue(Verbs& verbs) {
  Verbs& queue = verbs.family("queue");
  auto [list, list_options] = queue.add<QueueListOptions>("list");
  list.formats(&list_options->format, "print a JSON array of queues");
  const auto read_queue = [](std::string_view text) -> Result<std::string> {
    auto name = read_name(text);
    if (name) name->insert(0, "queue:");
    return name;
  };
  auto [pause, pause_options] = queue.add<GateSetOptions>("pause");
  pause.value("QUEUE", "", &pause_options->gate, read_queue, "the queue").required();
  add_closing(pause, pause_options);
  auto [resume, resume_options] = queue.add<GateSetOptions>("resume");
  resume.value("QUEUE", "", &resume_options->gate, read_queue, "the queue").required();
  add_reason(resume, resume_options);
}

void add_store(Verbs& verbs) {
  Verbs& store = verbs.family("store");
  auto [show, show_options] = store.add<StoreOptions>("show");
  show.json(&show_options->format, R"(print {"last_event", "lost", "epochs"})");
  auto [accept, accept_options] = store.add<StoreOptions>("accept-regression");
  accept_options->what = StoreOptions::What::kAcceptRegression;
  accept.json(&accept_options->format, R"(print {"last_event", "lost", "epochs"})");
}

void add_config(Verbs& verbs) {
  Verbs& config = verbs.family("config");
  auto [apply, apply_options] = config.add<ConfigApplyOptions>("apply");
  apply.value("FILE", "", &apply_options->file, read_text, "a drover.yaml, YAML or JSON; - is stdin").required();
  apply.flag("--dry-run", &apply_options->dry_run, true, "say what would change, and change nothing");
  apply.json(&apply_options->format,
             R"(print {"version", "changed", "differences"}; of a dry run also "would_change")");
  auto [show, show_options] = config.add<ConfigShowOptions>("show");
  show.json(&show_options->format, R"(print {"version", "document"})");
}

void add_type(Verbs& verbs) {
  Verbs& type = verbs.family("type");
  auto [list, list_options] = type.add<TypeListOptions>("list");
  list.formats(&list_options->format, "print a JSON array of types");
  auto [show, show_options] = type.add<TypeShowOptions>("show");
  show.value("TYPE", "", &show_options->name, read_name, "its name").required();
  show.json(&show_options->format, "print the type as JSON");
}

void add_trust(Verbs& verbs) {
  auto [verb, options] = verbs.add<TrustOptions>("trust");
  options->file = "drover.yaml";
  verb.value("FILE", "", &options->file, read_text, "default: drover.yaml here");
  verb.json(&options->format, R"(print {"path", "sha256"})");
}

void add_worker(Verbs& verbs) {
  Verbs& worker = verbs.family("worker");
  auto [list, list_options] = worker.add<WorkerListOptions>("list");
  list.formats(&list_options->format, "print a JSON array of workers");
  auto [drain, options] = worker.add<WorkerDrainOptions>("drain");
  drain.value("WORKER", "", &options->id, read_name, "its id");
  drain.flag("--all", &options->all, true, "every worker that is registered");
  drain.value("--reason", "R", &options->reason, read_text, "why; shown to anyone who asks");
  drain.flag("--wait", &options->wait, true, "wait until they are gone");
  drain.json(&options->format, R"(print {"draining"})");
  drain.check([options = options]() -> Status {
    if (options->all == !options->id.empty()) return complaint("WORKER", "give one, or --all");
    return {};
  });
}

void add_token(Verbs& verbs) {
  Verbs& token = verbs.family("token");
  auto [create, options] = token.add<TokenCreateOptions>("create");
  create.value("--role", "viewer|producer|worker|operator|admin", &options->role, read_role, "what it allows")
      .required();
  create.value("--owner", "O", &options->owner, read_name,
               "viewer, producer: whose tasks they are; default: the owner default");
  create.list("--queue", "Q", &options->queues, read_name, "worker: a queue that it serves; default: all");
  create.value("--expires", "D", &options->expires, read_time_limit, "how long it is good; default: until revoked");
  create.value("--note", "TEXT", &options->note, read_text, "what it is for; shown in the list");
  create.json(&options->format, "print the token and what is known of it as JSON");
  auto [list, list_options] = token.add<TokenListOptions>("list");
  list.formats(&list_options->format, "print a JSON array of tokens");
  auto [revoke, revoke_options] = token.add<TokenRevokeOptions>("revoke");
  revoke.value("TOKEN", "", &revoke_options->id, read_token_id, "its id").required();
  revoke.json(&revoke_options->format, "print what is known of it as JSON");
}

void add_audit(Verbs& verbs) {
  auto [verify, options] = verbs.family("audit").add<AuditVerifyOptions>("verify");
  verify.value("FILE", "", &options->file, read_text, "what serve --audit-log writes").required();
  verify.json(&options->format, "print the number of records and the last hash as JSON");
}

void add_health(Verbs& verbs) {
  auto [stats, stats_options] = verbs.add<StatsOptions>("stats");
  stats.json(&stats_options->format, "print everything as one JSON object");
  auto [top, top_options] = verbs.add<TopOptions>("top");
  top.flag("--once", &top_options->once, true, "print one picture and end");
  top.value("--interval", "D", &top_options->interval, read_interval, "how often it looks; default 1s, at least 250ms");
  auto [doctor, doctor_options] = verbs.add<DoctorOptions>("doctor");
  doctor.json(&doctor_options->format, R"(print {"verdict", "checks"})");
  auto [alerts, alerts_options] = verbs.add<AlertsOptions>("alerts");
  alerts.formats(&alerts_options->format, "print a JSON array of alerts");
}

}  // namespace

void add_operating_verbs(Verbs& verbs) {
  add_health(verbs);
  add_events(verbs);
  add_queue(verbs);
  add_gate(verbs);
  add_worker(verbs);
  add_config(verbs);
  add_type(verbs);
  add_trust(verbs);
  add_token(verbs);
  add_audit(verbs);
  add_fsck(verbs);
  add_store(verbs);
  add_transfer(verbs);
}

}  // namespace drover::cli
