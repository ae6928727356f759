// drover config: the policy in the store.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/json.h"
#include "cli/document_diff.h"
#include "cli/files.h"
#include "cli/project.h"
#include "cli/verbs.h"

namespace drover::cli {
namespace {

constexpr ReadLimit kDocumentLimit{4 << 20, ErrorCode::kInvalidConfig};

Result<Document> read_document(const std::string& file) {
  const auto text = read_input(file, kDocumentLimit);
  if (!text) return std::unexpected(text.error());
  // More often a command that failed than somebody who wants no policy.
  if (std::ranges::all_of(*text, [](unsigned char c) { return std::isspace(c) != 0; })) {
    return drover::fail(ErrorCode::kInvalidConfig,
                        fmt::format("{} is empty; to remove the policy, apply {{}}", file == "-" ? "stdin" : file));
  }
  return parse_document(*text, file == "-" ? "stdin" : file);
}

// "+ types.b.queue: "q"" for what came, "-" for what went, "~" for what changed.
void tell_differences(const JsonText& before, const JsonText& after, Context& context) {
  const auto old_document = json::parse(before);
  const auto new_document = json::parse(after);
  if (!old_document || !new_document) return;
  for (const Difference& one : differences(*old_document, *new_document)) {
    if (one.before.empty()) {
      context.err.line(painted(fmt::format("+ {}: {}", one.path, one.after), Paint::kGreen, context.err.look()));
    } else if (one.after.empty()) {
      context.err.line(painted(fmt::format("- {}: {}", one.path, one.before), Paint::kRed, context.err.look()));
    } else {
      context.err.line(
          painted(fmt::format("~ {}: {} -> {}", one.path, one.before, one.after), Paint::kYellow, context.err.look()));
    }
  }
}

int tell(std::int64_t version, bool changed, std::string_view sentence, Format format, Context& context) {
  if (format == Format::kJson) {
    json::Writer writer;
    writer.begin_object().key("version").number(version).key("changed").boolean(changed).end_object();
    context.out.line(std::move(writer).take());
  } else {
    context.say(sentence);
  }
  return kExitOk;
}

}  // namespace

int run(const ConfigApplyOptions& options, Context& context) {
  const auto document = read_document(options.file);
  if (!document) return context.fail(document.error());
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  TaskQueue& queue = (*opened)->queue();
  const auto config = queue.config();
  if (!config) return context.fail(config.error());
  if (config->version > 0 && config->document == document->shared) {
    return tell(config->version, false, fmt::format("nothing to change: this is version {}", config->version),
                options.format, context);
  }
  tell_differences(config->document, document->shared, context);
  if (options.dry_run) {
    return tell(config->version, true, fmt::format("nothing was changed: the policy is version {}", config->version),
                options.format, context);
  }
  const auto applied = queue.apply_config(document->shared, config->version);
  if (!applied) return context.fail(applied.error());
  return tell(applied->version, true, fmt::format("the policy is now version {}", applied->version), options.format,
              context);
}

// As YAML, of which JSON is a part, so that it can be applied again.
int run(const ConfigShowOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto config = (*opened)->queue().config();
  if (!config) return context.fail(config.error());
  if (options.format == Format::kJson) {
    json::Writer writer;
    writer.begin_object().key("version").number(config->version).key("document").raw(config->document).end_object();
    context.out.line(std::move(writer).take());
    return kExitOk;
  }
  const auto document = json::parse(config->document);
  context.out.write(
      fmt::format("# version {}\n{}\n", config->version, document ? json::dump_pretty(*document) : config->document));
  return kExitOk;
}

}  // namespace drover::cli
