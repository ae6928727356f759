// drover audit: the audit log of a server.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/verb.h"
#include "server/audit_log.h"

namespace drover::cli {
namespace {

struct AuditVerifyOptions {
  std::string file;
  Format format = Format::kAuto;
};

void define(Verb& verb, AuditVerifyOptions& options) {
  verb.value("FILE", "", &options.file, read_text, "what serve --audit-log writes").required();
  verb.json(&options.format, "print the number of records and the last hash as JSON");
}

int run(const AuditVerifyOptions& options, Context& context) {
  const auto summary = server::verify_audit_log(options.file);
  if (!summary) return context.fail(summary.error());
  if (options.format == Format::kJson) {
    context.out.line(fmt::format(R"({{"records":{},"hash":"{}"}})", summary->records, summary->last_hash));
  } else {
    context.out.line(fmt::format("{}\t{}", summary->records, summary->last_hash));
  }
  context.say(fmt::format("{} is intact: {}", options.file, counted(summary->records, "record")));
  return kExitOk;
}

}  // namespace

void add_audit(Verbs& verbs) {
  Verbs& audit = verbs.family({.name = "audit",
                               .summary = "Check the audit log of a server",
                               .footer =
                                   R"(Examples:
  drover audit verify /var/log/drover/audit.log)"});
  audit.add<AuditVerifyOptions>(
      {.name = "verify",
       .summary = "Check that nobody has changed an audit log",
       .footer =
           R"(If a line was changed, removed or added, it names the first one and exits with 1. Otherwise it prints the number of
records and the hash of the last one, tab-separated. Keep that hash somewhere else: only by comparing it
later can you tell that lines were cut from the end.

Examples:
  drover audit verify /var/log/drover/audit.log
  drover audit verify audit.log --json)"},
      define, run);
}

}  // namespace drover::cli
