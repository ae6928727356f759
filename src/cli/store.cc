// drover store: whether the store is still where it has been, and going on from where it is.
#include <fmt/format.h>

#include "cli/project.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "wire/write.h"

namespace drover::cli {
namespace {

Table epoch_table(const std::vector<Epoch>& epochs) {
  Table table({{"EPOCH"}, {"ID"}, {"AFTER EVENT"}, {"CAUSE", Fit::kRest}});
  for (const Epoch& epoch : epochs) {
    table.add({Cell(std::to_string(epoch.number)), Cell(epoch.id), Cell(std::to_string(epoch.after)),
               Cell(std::string(name_of(epoch.cause)))});
  }
  return table;
}

std::string sentence(StoreOptions::What what, const StoreState& state) {
  if (what == StoreOptions::What::kAcceptRegression) {
    return state.loss ? fmt::format("lost: {}. That is accepted now, and work goes on", to_string(*state.loss))
                      : "nothing is known to be lost; a new epoch has begun";
  }
  return state.loss ? fmt::format(
                          "acknowledged and gone: {}. Nothing is claimed until drover store "
                          "accept-regression",
                          to_string(*state.loss))
                    : fmt::format("nothing is known to be lost; the last event is {}", state.extent.seq);
}

}  // namespace

int run(const StoreOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  Administration& store = (*opened)->administration();
  const bool shows = options.what == StoreOptions::What::kShow;
  const auto state = shows ? store.store_state() : store.accept_regression();
  if (!state) return context.fail(state.error());
  if (options.format == Format::kJson) {
    context.out.line(to_json(*state));
  } else {
    context.out.write(epoch_table(state->extent.epochs).render(context.out.look()));
  }
  context.say(sentence(options.what, *state));
  return shows && state->loss ? kExitError : kExitOk;
}

}  // namespace drover::cli
