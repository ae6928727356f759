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
  context.say(fmt::format("{} is whole: {}", options.file, counted(summary->records, "record")));
  return kExitOk;
}

}  // namespace

void add_audit(Verbs& verbs) {
  Verbs& audit = verbs.family({.name = "audit",
                               .summary = "The audit log of a server",
                               .footer =
                                   R"(Examples:
  drover audit verify /var/log/drover/audit.log)"});
  audit.add<AuditVerifyOptions>(
      {.name = "verify",
       .summary = "Check that an audit log is as it was written",
       .footer =
           R"(Names the first line that was changed, taken out or put in, and exits with 1. Otherwise it prints, tab-separated, the number of
records and the hash of the last one: lines that were cut from the end leave no trace but that another hash was noted before.

Examples:
  drover audit verify /var/log/drover/audit.log
  drover audit verify audit.log --json)"},
      define, run);
}

}  // namespace drover::cli
