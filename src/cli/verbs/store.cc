// drover store: whether the store is still where it has been, and going on from where it is.
#include <fmt/format.h>

#include "cli/project.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "wire/write.h"

namespace drover::cli {
namespace {

struct StoreOptions {
  enum class What : std::uint8_t { kShow, kAcceptRegression };

  What what = What::kShow;
  Format format = Format::kAuto;
};

void define(Verb& verb, StoreOptions& options) {
  verb.json(&options.format, R"(print {"last_event", "lost", "epochs", "missing"})");
}

void define_acceptance(Verb& verb, StoreOptions& options) {
  options.what = StoreOptions::What::kAcceptRegression;
  define(verb, options);
}

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
    return state.loss ? fmt::format("accepted the loss of {}; workers claim tasks again", to_string(*state.loss))
                      : "nothing is known to be lost; a new epoch has begun";
  }
  return state.loss ? fmt::format(
                          "acknowledged but missing: {}; workers claim nothing until you run drover store "
                          "accept-regression",
                          to_string(*state.loss))
                    : fmt::format("nothing is known to be lost; the last event is {}", state.extent.seq);
}

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

}  // namespace

void add_store(Verbs& verbs) {
  Verbs& store = verbs.family({.name = "store",
                               .summary = "See whether the store has lost anything, and continue after a loss",
                               .footer =
                                   R"(Examples:
  drover store show)"});
  store.add<StoreOptions>({.name = "show",
                           .summary = "Show the store's epochs, and whether acknowledged work is missing",
                           .footer =
                               R"(An epoch is a stretch of the store's history in which it cannot have lost anything.
This machine remembers what the store has acknowledged, in `drover.db-mark` or, for Redis, in `marks/` of your state
folder. Exits with 1 if something is missing.

Examples:
  drover store show)"},
                          define, run);
  store.add<StoreOptions>(
      {.name = "accept-regression",
       .summary = "Accept the loss of acknowledged work, so that workers claim tasks again",
       .footer =
           R"(If the store is older than what it had acknowledged, as after an old backup was restored, workers claim nothing
until you run this. It begins a new epoch: see `drover store show`.

Examples:
  drover store accept-regression)"},
      define_acceptance, run);
}

}  // namespace drover::cli
