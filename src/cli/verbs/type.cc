// drover type: what the policy says of the types of tasks.
#include "cli/listing.h"
#include "cli/project.h"
#include "cli/type_view.h"
#include "cli/verb.h"

namespace drover::cli {
namespace {

struct TypeListOptions {
  Format format = Format::kAuto;
};

struct TypeShowOptions {
  std::string name;
  Format format = Format::kAuto;
};

void define(Verb& verb, TypeListOptions& options) {
  verb.formats(&options.format, "print a JSON array of types");
}

void define(Verb& verb, TypeShowOptions& options) {
  verb.value("TYPE", "", &options.name, read_name, "its name").required();
  verb.json(&options.format, "print the type as JSON");
}

int run(const TypeListOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto policy = policy_of((*opened)->queue());
  if (!policy) return context.fail(policy.error());
  std::vector<TypeView> types;
  for (const auto& [name, ignored] : policy->types) {
    auto type = view_type(name, *policy);
    if (!type) return context.fail(type.error());
    types.push_back(*std::move(type));
  }
  print(Listing<TypeView>{.items = types,
                          .nothing = "the policy names no types: all have the defaults",
                          .name = [](const TypeView& type) { return type.name; },
                          .table = [&] { return type_table(types); }},
        options.format, context);
  return kExitOk;
}

int run(const TypeShowOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto policy = policy_of((*opened)->queue());
  if (!policy) return context.fail(policy.error());
  const auto type = view_type(options.name, *policy);
  if (!type) return context.fail(type.error());
  if (!policy->types.contains(options.name)) context.say("the policy does not name this type: it has the defaults");
  if (options.format == Format::kJson) {
    context.out.line(to_json(*type));
  } else {
    context.out.write(type_page(*type, context.out.look()));
  }
  return kExitOk;
}

}  // namespace

void add_type(Verbs& verbs) {
  Verbs& type = verbs.family({.name = "type",
                              .summary = "See what the policy says about types of tasks",
                              .footer =
                                  R"(Settings that drover.yaml leaves out are shown with their defaults.

Examples:
  drover type list
  drover type show review)"});
  type.add<TypeListOptions>(
      {.name = "list",
       .summary = "List the types that the policy names",
       .footer =
           R"(Piped, it prints tab-separated columns: type, queue, priority, attempts, retry, timeout, breaker, contract.

Examples:
  drover type list
  drover type list -o name)"},
      define, run);
  type.add<TypeShowOptions>(
      {.name = "show",
       .summary = "Show one type: its defaults, its retries, its breaker and its contract",
       .footer =
           R"(The fields are those of types.TYPE in drover.yaml. A type that the policy does not name has the defaults, unless the policy allows
only the types that it names.

Examples:
  drover type show review
  drover type show review --json | jq .payload_schema)"},
      define, run);
}

}  // namespace drover::cli
