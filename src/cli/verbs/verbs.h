// All verbs, in the order of help. Each is defined in the file of its name; export and import are in transfer.cc.
#pragma once

#include <string_view>

#include "cli/verb.h"

namespace drover::cli {

void add_init(Verbs& verbs);
void add_up(Verbs& verbs);
void add_serve(Verbs& verbs);
void add_dashboard(Verbs& verbs);
void add_work(Verbs& verbs);
void add_runner(Verbs& verbs);
void add_workspace(Verbs& verbs);
void add_progress(Verbs& verbs);
void add_fail(Verbs& verbs);
void add_parents(Verbs& verbs);
void add_mcp(Verbs& verbs);
void add_enqueue(Verbs& verbs);
void add_run(Verbs& verbs);
void add_list(Verbs& verbs);
void add_show(Verbs& verbs);
void add_wait(Verbs& verbs);
void add_logs(Verbs& verbs);
void add_transcript(Verbs& verbs);
void add_explain(Verbs& verbs);
void add_stuck(Verbs& verbs);
void add_cancel(Verbs& verbs);
void add_edit(Verbs& verbs);
void add_retry(Verbs& verbs);
void add_dlq(Verbs& verbs);
void add_bulk(Verbs& verbs);
void add_stats(Verbs& verbs);
void add_top(Verbs& verbs);
void add_doctor(Verbs& verbs);
void add_alerts(Verbs& verbs);
void add_events(Verbs& verbs);
void add_queue(Verbs& verbs);
void add_gate(Verbs& verbs);
void add_budget(Verbs& verbs);
void add_worker(Verbs& verbs);
void add_config(Verbs& verbs);
void add_type(Verbs& verbs);
void add_trust(Verbs& verbs);
void add_token(Verbs& verbs);
void add_audit(Verbs& verbs);
void add_usage(Verbs& verbs);
void add_fsck(Verbs& verbs);
void add_store(Verbs& verbs);
void add_export(Verbs& verbs);
void add_import(Verbs& verbs);
void add_completion(Verbs& verbs);
void add_complete(Verbs& verbs);
void add_help(Verbs& verbs);

struct VerbEntry {
  std::string_view heading;  // in help
  void (*add)(Verbs&);
};

inline constexpr VerbEntry kVerbs[] = {
    {"Running", add_init},     {"Running", add_up},       {"Running", add_serve},     {"Running", add_dashboard},
    {"Running", add_work},     {"Running", add_runner},   {"Running", add_workspace}, {"Running", add_progress},
    {"Running", add_fail},     {"Running", add_parents},  {"Running", add_mcp},       {"Tasks", add_enqueue},
    {"Tasks", add_run},        {"Tasks", add_list},       {"Tasks", add_show},        {"Tasks", add_wait},
    {"Tasks", add_logs},       {"Tasks", add_transcript}, {"Tasks", add_explain},     {"Tasks", add_stuck},
    {"Tasks", add_cancel},     {"Tasks", add_edit},       {"Tasks", add_retry},       {"Tasks", add_dlq},
    {"Tasks", add_bulk},       {"Operating", add_stats},  {"Operating", add_usage},   {"Operating", add_top},
    {"Operating", add_doctor}, {"Operating", add_alerts}, {"Operating", add_events},  {"Operating", add_queue},
    {"Operating", add_gate},   {"Operating", add_budget}, {"Operating", add_worker},  {"Operating", add_config},
    {"Operating", add_type},   {"Operating", add_trust},  {"Operating", add_token},   {"Operating", add_audit},
    {"Operating", add_fsck},   {"Operating", add_store},  {"Operating", add_export},  {"Operating", add_import},
    {"Other", add_completion}, {"Other", add_complete},   {"Other", add_help},
};

}  // namespace drover::cli
