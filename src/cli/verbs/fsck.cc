// drover fsck: records against indexes, both ways.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "cli/project.h"
#include "cli/table.h"
#include "cli/verb.h"

namespace drover::cli {
namespace {

struct FsckOptions {
  FsckMode mode = FsckMode::kCheck;
  Format format = Format::kAuto;
};

void define(Verb& verb, FsckOptions& options) {
  verb.flag("--repair", &options.mode, FsckMode::kRepair, "repair what can be repaired");
  verb.json(&options.format, "print a JSON array of findings");
}

std::string findings_json(const std::vector<Finding>& findings) {
  json::Writer writer;
  writer.begin_array();
  for (const Finding& finding : findings) {
    writer.begin_object().key("code").string(finding.code).key("detail").string(finding.detail);
    writer.key("repaired").boolean(finding.repaired).end_object();
  }
  writer.end_array();
  return std::move(writer).take();
}

Table findings_table(const std::vector<Finding>& findings) {
  Table table({{"FINDING"}, {"REPAIRED"}, {"DETAIL", Fit::kRest}});
  for (const Finding& finding : findings) {
    table.add({Cell(finding.code, finding.repaired ? Paint::kGreen : Paint::kRed),
               Cell(finding.repaired ? "yes" : "no"), finding.detail});
  }
  return table;
}

constexpr std::string_view kDamageAdvice =
    "pages of the database are damaged: stop all workers and copy the file, then try --repair, which rebuilds indexes; "
    "if that is not enough, restore a backup (.recover of sqlite3 may save some of the data)";

bool is_page_damage(const Finding& finding) {
  return finding.code == "database_damaged" && !finding.repaired;
}

int run(const FsckOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto findings = (*opened)->queue().fsck(options.mode);
  if (!findings) return context.fail(findings.error());
  const auto open = std::ranges::count(*findings, false, &Finding::repaired);
  if (options.format == Format::kJson) {
    context.out.line(findings_json(*findings));
  } else if (!findings->empty()) {
    context.out.write(findings_table(*findings).render(context.out.look()));
  }
  context.say(findings->empty() ? "clean"
                                : fmt::format("{}, {} not repaired", counted(std::ssize(*findings), "finding"), open));
  if (std::ranges::any_of(*findings, is_page_damage)) context.say(kDamageAdvice);
  return open == 0 ? kExitOk : kExitError;
}

}  // namespace

void add_fsck(Verbs& verbs) {
  verbs.add<FsckOptions>(
      {.name = "fsck",
       .summary = "Check that the store's records and indexes agree",
       .footer =
           R"(Piped, it prints tab-separated lines: code, repaired (yes or no), detail. On Redis, the check
blocks all other clients; if there are many tasks, stop the workers first.

Exits with 1 if something is wrong and was not repaired.

Examples:
  drover fsck
  drover fsck --repair)"},
      define, run);
}

}  // namespace drover::cli
