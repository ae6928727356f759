// drover config: the policy in the store.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "base/clock.h"
#include "base/json.h"
#include "base/try.h"
#include "cli/document_diff.h"
#include "cli/files.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "cli/task_view.h"
#include "cli/verb.h"
#include "wire/write.h"

namespace drover::cli {
namespace {

struct ConfigApplyOptions {
  std::string file;      // - for stdin
  bool dry_run = false;  // say what would change, and change nothing
  Format format = Format::kAuto;
};

struct ConfigShowOptions {
  std::optional<std::int64_t> version;  // unset: the one in force
  Format format = Format::kAuto;
};

struct ConfigHistoryOptions {
  Format format = Format::kAuto;
};

struct ConfigRollbackOptions {
  std::int64_t version = 0;
  bool dry_run = false;
  Format format = Format::kAuto;
};

Result<std::int64_t> read_version(std::string_view text) {
  return read_integer(text, {1, std::numeric_limits<std::int64_t>::max()});
}

void define_change(Verb& verb, bool* dry_run, Format* format) {
  verb.flag("--dry-run", dry_run, true, "say what would change, and change nothing");
  verb.json(format, R"(print {"version", "changed", "differences"}; for a dry run also "would_change")");
}

void define(Verb& verb, ConfigApplyOptions& options) {
  verb.value("FILE", "", &options.file, read_text, "a drover.yaml, YAML or JSON; - is stdin").required();
  define_change(verb, &options.dry_run, &options.format);
}

void define(Verb& verb, ConfigRollbackOptions& options) {
  verb.value("VERSION", "", &options.version, read_version, "a number of `drover config history`").required();
  define_change(verb, &options.dry_run, &options.format);
}

void define(Verb& verb, ConfigHistoryOptions& options) {
  verb.formats(&options.format, R"(print an array of {"version", "applied_at"})");
}

void define(Verb& verb, ConfigShowOptions& options) {
  verb.value("--version", "N", &options.version, read_version, "as it was in this version, not the one in force");
  verb.json(&options.format, R"(print {"version", "document"})");
}

constexpr ReadLimit kDocumentLimit{4 << 20, ErrorCode::kInvalidConfig};

Result<Document> read_document(const std::string& file) {
  const auto text = TRY(read_input(file, kDocumentLimit));
  // More often a command that failed than somebody who wants no policy.
  if (std::ranges::all_of(text, [](unsigned char c) { return std::isspace(c) != 0; })) {
    return drover::fail(ErrorCode::kInvalidConfig,
                        fmt::format("{} is empty; to remove the policy, apply {{}}", file == "-" ? "stdin" : file));
  }
  return parse_document(text, file == "-" ? "stdin" : file);
}

// What an apply did, or of a dry run would do.
struct Change {
  std::int64_t version;  // in force afterwards
  bool is_other;         // the document is not the one that was in force
  std::vector<Difference> differences;
};

Result<std::vector<Difference>> differences_of(const JsonText& before, const JsonText& after) {
  const auto old_document = TRY(json::parse(before));
  const auto new_document = TRY(json::parse(after));
  return differences(old_document, new_document);
}

// "+ types.b.queue: "q"" for what came, "-" for what went, "~" for what changed.
void print_lines(const std::vector<Difference>& differences, Output& out) {
  for (const Difference& one : differences) {
    if (one.before.empty()) {
      out.line(painted(fmt::format("+ {}: {}", one.path, one.after), Paint::kGreen, out.look()));
    } else if (one.after.empty()) {
      out.line(painted(fmt::format("- {}: {}", one.path, one.before), Paint::kRed, out.look()));
    } else {
      out.line(painted(fmt::format("~ {}: {} -> {}", one.path, one.before, one.after), Paint::kYellow, out.look()));
    }
  }
}

void print_json(const Change& change, bool dry_run, Output& out) {
  json::Writer writer;
  writer.begin_object().key("version").number(change.version).key("changed").boolean(change.is_other && !dry_run);
  if (dry_run) writer.key("would_change").boolean(change.is_other);
  writer.key("differences").begin_array();
  for (const Difference& one : change.differences) {
    writer.begin_object().key("path").string(one.path);
    writer.key("before").raw(one.before.empty() ? "null" : one.before);
    writer.key("after").raw(one.after.empty() ? "null" : one.after).end_object();
  }
  writer.end_array().end_object();
  out.line(std::move(writer).take());
}

// The differences are what a dry run is asked for; of an apply they are news beside it.
void print(const Change& change, bool dry_run, Format format, Context& context) {
  if (format == Format::kJson) return print_json(change, dry_run, context.out);
  print_lines(change.differences, dry_run ? context.out : context.err);
  if (!change.is_other) {
    context.say(fmt::format("nothing to change: this is version {}", change.version));
  } else if (dry_run) {
    context.say(fmt::format("nothing was changed: the policy is version {}", change.version));
  } else {
    context.say(fmt::format("the policy is now version {}", change.version));
  }
}

// Makes this document the policy, as a new version.
int change_policy(TaskQueue& queue, const JsonText& shared, bool dry_run, Format format, Context& context) {
  const auto config = queue.config();
  if (!config) return context.fail(config.error());
  auto found = differences_of(config->document, shared);
  if (!found) return context.fail(found.error());
  Change change{.version = config->version,
                .is_other = config->version == 0 || config->document != shared,
                .differences = *std::move(found)};
  if (change.is_other && !dry_run) {
    const auto applied = queue.apply_config(shared, config->version);
    if (!applied) return context.fail(applied.error());
    change.version = applied->version;
  }
  print(change, dry_run, format, context);
  return kExitOk;
}

int run(const ConfigApplyOptions& options, Context& context) {
  const auto document = read_document(options.file);
  if (!document) return context.fail(document.error());
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  return change_policy((*opened)->queue(), document->shared, options.dry_run, options.format, context);
}

int run(const ConfigRollbackOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto old = (*opened)->queue().config_at(options.version);
  if (!old) return context.fail(old.error());
  return change_policy((*opened)->queue(), old->document, options.dry_run, options.format, context);
}

int run(const ConfigHistoryOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto versions = (*opened)->queue().config_versions();
  if (!versions) return context.fail(versions.error());
  const Time now = system_clock().wall();
  print(Listing<ConfigVersion>{.items = *versions,
                               .nothing = "no policy was ever applied",
                               .name = [](const ConfigVersion& version) { return std::to_string(version.version); },
                               .table =
                                   [&] {
                                     Table table({{"VERSION"}, {"APPLIED"}, {"AGE", Fit::kElastic}});
                                     for (const ConfigVersion& version : *versions) {
                                       table.add({std::to_string(version.version), format_time(version.applied_at),
                                                  coarse_duration(std::max(Millis{0}, now - version.applied_at))});
                                     }
                                     return table;
                                   }},
        options.format, context);
  return kExitOk;
}

// As YAML, of which JSON is a part, so that it can be applied again.
int run(const ConfigShowOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  TaskQueue& queue = (*opened)->queue();
  const auto config = options.version ? queue.config_at(*options.version) : queue.config();
  if (!config) return context.fail(config.error());
  if (options.format == Format::kJson) {
    context.out.line(to_json(*config));
    return kExitOk;
  }
  const auto document = json::parse(config->document);
  context.out.write(
      fmt::format("# version {}\n{}\n", config->version, document ? json::dump_pretty(*document) : config->document));
  return kExitOk;
}

}  // namespace

void add_config(Verbs& verbs) {
  Verbs& config = verbs.family({.name = "config",
                                .summary = "Show or replace the policy that every process of the fleet obeys",
                                .footer =
                                    R"(Examples:
  drover config show
  drover config apply drover.yaml
  drover config history)"});
  config.add<ConfigApplyOptions>(
      {.name = "apply",
       .summary = "Store a drover.yaml as the policy, without its section `local`",
       .footer =
           R"(Checks the whole file first; an error names the line. Then it lists the changes: + added, - removed, ~ changed.

Examples:
  drover config apply drover.yaml --dry-run
  drover config apply drover.yaml)"},
      define, run);
  config.add<ConfigShowOptions>({.name = "show",
                                 .summary = "Show the policy in force, or an earlier version of it",
                                 .footer =
                                     R"(Examples:
  drover config show --version 3
  drover config show > policy.yaml && drover config apply policy.yaml)"},
                                define, run);
  config.add<ConfigHistoryOptions>(
      {.name = "history",
       .summary = "List the versions of the policy, newest first",
       .footer =
           R"(Piped, it prints tab-separated lines: version, applied_at, age. At most the newest 1000.

Examples:
  drover config history)"},
      define, run);
  config.add<ConfigRollbackOptions>({.name = "rollback",
                                     .summary = "Apply an earlier version of the policy again, as a new version",
                                     .footer =
                                         R"(Examples:
  drover config rollback 3 --dry-run
  drover config rollback 3)"},
                                    define, run);
}

}  // namespace drover::cli
