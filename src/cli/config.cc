// drover config: the policy in the store.
#include <fmt/format.h>

#include "base/json.h"
#include "cli/files.h"
#include "cli/project.h"
#include "cli/verbs.h"

namespace drover::cli {
namespace {

constexpr ReadLimit kDocumentLimit{4 << 20, ErrorCode::kInvalidConfig};

Result<Document> read_document(const std::string& file) {
  const auto text = read_input(file, kDocumentLimit);
  if (!text) return std::unexpected(text.error());
  return parse_document(*text, file == "-" ? "stdin" : file);
}

void print_applied(std::int64_t version, bool changed, Format format, Context& context) {
  if (format == Format::kJson) {
    json::Writer writer;
    writer.begin_object().key("version").number(version).key("changed").boolean(changed).end_object();
    return context.out.line(std::move(writer).take());
  }
  context.say(changed ? fmt::format("the policy is now version {}", version)
                      : fmt::format("nothing to change: this is version {}", version));
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
    print_applied(config->version, false, options.format, context);
    return kExitOk;
  }
  const auto applied = queue.apply_config(document->shared, config->version);
  if (!applied) return context.fail(applied.error());
  print_applied(applied->version, true, options.format, context);
  return kExitOk;
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
