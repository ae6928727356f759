// drover audit: the audit log of a server.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/verbs.h"
#include "server/audit_log.h"

namespace drover::cli {

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

}  // namespace drover::cli
