// drover budget: what may be spent behind gates, seen and raised by hand.
#include <fmt/format.h>

#include "cli/listing.h"
#include "cli/project.h"
#include "cli/read_value.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "cli/who.h"
#include "core/budget.h"
#include "core/budget_json.h"
#include "core/gate_name.h"

namespace drover::cli {
namespace {

struct BudgetListOptions {
  Format format = Format::kAuto;
};

struct BudgetRaiseOptions {
  std::string gate{};
  std::optional<std::string> usd{};
  std::optional<std::string> tokens{};
  std::optional<std::string> turns{};
  std::optional<std::string> wall{};
  std::optional<BudgetPer> per{};
  std::string why{};
  Format format = Format::kAuto;
};

Result<BudgetPer> read_per(std::string_view text) {
  if (const auto per = parse_budget_per(text)) return *per;
  return drover::fail(ErrorCode::kInvalidArgument, "expected day, month or none");
}

void define(Verb& verb, BudgetListOptions& options) {
  verb.formats(&options.format, "print a JSON array of budgets");
}

void define_raise(Verb& verb, BudgetRaiseOptions& options) {
  verb.value("GATE", "", &options.gate, read_gate, gate_name_forms()).required();
  verb.value("--usd", "DOLLARS", &options.usd, read_text, "add this many dollars, for example 5 or 0.50");
  verb.value("--tokens", "N", &options.tokens, read_text, "add this many tokens, for example 500k or 5M");
  verb.value("--turns", "N", &options.turns, read_text, "add this many turns");
  verb.value("--wall", "DURATION", &options.wall, read_text, "add this much wall time, for example 45m");
  verb.value("--per", "PERIOD", &options.per, read_per,
             "day, month or none: which budget, if the gate has several in this unit");
  verb.value("--reason", "R", &options.why, read_text, "why; shown to anyone who asks");
  verb.json(&options.format, "print the budget as JSON");
}

Table budget_table(const std::vector<BudgetStatus>& budgets) {
  Table table({{"GATE"}, {"PERIOD"}, {"LIMIT"}, {"SPENT"}, {"USED"}, {"SET ASIDE"}, {"LEFT"}, {"RESETS"}, {"BREACH"}});
  for (const BudgetStatus& budget : budgets) {
    const BudgetUnit unit = budget.budget.unit;
    table.add({Cell(budget.gate), Cell(budget.uncertain ? budget.period + " (uncertain)" : budget.period),
               Cell(format_amount(unit, budget.limit())), Cell(format_amount(unit, budget.spent)),
               Cell(fmt::format("{}%", percent_spent(budget))), Cell(format_amount(unit, budget.aside)),
               Cell(format_amount(unit, budget.left())),
               Cell(budget.resets_at ? format_time(*budget.resets_at) : std::string("-")),
               Cell(budget.breached ? fmt::format("{} (breached)", name_of(budget.budget.on_breach))
                                    : std::string(name_of(budget.budget.on_breach)))});
  }
  return table;
}

int run(const BudgetListOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto budgets = (*opened)->queue().budgets();
  if (!budgets) return context.fail(budgets.error());
  print(Listing<BudgetStatus>{.items = *budgets,
                              .nothing = "no gate has a budget",
                              .name = [](const BudgetStatus& budget) { return budget.gate; },
                              .table = [&] { return budget_table(*budgets); }},
        options.format, context);
  return kExitOk;
}

// One amount, in one unit.
Result<RaiseOrder> order_of(const BudgetRaiseOptions& options) {
  RaiseOrder order{.gate = options.gate, .per = options.per, .why = options.why};
  int given = 0;
  const auto take = [&](BudgetUnit unit, const std::optional<std::string>& text) -> Status {
    if (!text) return {};
    ++given;
    order.unit = unit;
    order.by_amount = TRY(parse_amount(unit, *text));
    return {};
  };
  TRY(take(BudgetUnit::kUsd, options.usd));
  TRY(take(BudgetUnit::kTokens, options.tokens));
  TRY(take(BudgetUnit::kTurns, options.turns));
  TRY(take(BudgetUnit::kWall, options.wall));
  if (given == 1) return order;
  return drover::fail(ErrorCode::kInvalidArgument, "say by how much: one of --usd, --tokens, --turns and --wall");
}

int run_raise(const BudgetRaiseOptions& options, Context& context) {
  auto order = order_of(options);
  if (!order) return context.fail(order.error());
  order->by = who();
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto raised = (*opened)->queue().raise_budget(*order);
  if (!raised) return context.fail(raised.error());
  if (options.format == Format::kJson) {
    context.out.write(to_json(*raised) + "\n");
  } else {
    const BudgetUnit unit = raised->budget.unit;
    const std::optional<Time>& until = raised->resets_at;
    context.out.write(fmt::format("{} may spend {} until {}; {} is left\n", raised->gate,
                                  format_amount(unit, raised->limit()), until ? format_time(*until) : "further notice",
                                  format_amount(unit, raised->left())));
  }
  return kExitOk;
}

}  // namespace

void add_budget(Verbs& verbs) {
  Verbs& budget = verbs.family(
      {.name = "budget",
       .summary = "List and raise the budgets of gates",
       .footer =
           R"(The policy gives budgets to gates: all, owners, types, providers and tags. A task can bring one for itself and
all that it spawns: the gate tree:ID.

Examples:
  drover budget list
  drover budget raise owner:alice --usd 5 --reason 'the release is tonight')"});
  budget.add<BudgetListOptions>(
      {.name = "list",
       .summary = "List budgets: what is spent, set aside and left, and when the next period begins",
       .footer =
           R"(What is set aside is for runs that go on and have not spent it yet. Piped, it prints tab-separated lines.

Examples:
  drover budget list --json)"},
      define, run);
  budget.add<BudgetRaiseOptions>({.name = "raise",
                                  .summary = "Raise a budget until its period ends",
                                  .footer = R"(Tasks that wait at the gate go on at once. The policy stays as it is.

Examples:
  drover budget raise owner:alice --usd 5
  drover budget raise all --tokens 2M --per day)"},
                                 define_raise, run_raise);
}

}  // namespace drover::cli
