// drover type: what the policy says of the types of tasks.
#include "cli/listing.h"
#include "cli/project.h"
#include "cli/type_view.h"
#include "cli/verbs.h"

namespace drover::cli {

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
  if (!policy->types.contains(options.name)) context.say("the policy does not name it: it has the defaults");
  if (options.format == Format::kJson) {
    context.out.line(to_json(*type));
  } else {
    context.out.write(type_page(*type, context.out.look()));
  }
  return kExitOk;
}

}  // namespace drover::cli
