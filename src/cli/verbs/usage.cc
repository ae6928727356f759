// drover usage: what agents used and what it cost, from the ledger.
#include <fmt/format.h>

#include <algorithm>

#include "cli/project.h"
#include "cli/table.h"
#include "cli/usage_view.h"
#include "cli/verb.h"
#include "core/ledger.h"
#include "wire/write.h"

namespace drover::cli {
namespace {

struct UsageOptions {
  UsageQuery query{.by = {UsageDimension::kDay}};
  Format format = Format::kAuto;
};

Result<std::vector<UsageDimension>> dimensions(std::string_view text) {
  auto by = parse_usage_dimensions(text);
  if (by && by->empty()) return drover::fail(ErrorCode::kInvalidArgument, "say by what");
  return by;
}

Result<std::string> read_day(std::string_view text) {
  if (is_day(text)) return std::string(text);
  return drover::fail(ErrorCode::kInvalidArgument, "write a day as 2026-11-18");
}

void define(Verb& verb, UsageOptions& options) {
  verb.value("--by", "WHAT", &options.query.by, dimensions,
             "day, owner, type, runner, model, class or tag; several with commas (default: day)");
  verb.value("--from", "DAY", &options.query.from, read_day, "from this day on, UTC (default: since the ledger began)");
  verb.value("--to", "DAY", &options.query.to, read_day, "up to this day (default: today)");
  verb.value("--owner", "OWNER", &options.query.owner, read_name, "only what this owner's agents used");
  verb.value("--type", "TYPE", &options.query.type, read_name, "only of tasks of this type");
  verb.json(&options.format, "print one JSON object with all rows");
}

std::string rows_json(const std::vector<UsageRow>& rows) {
  std::string text = "{\"rows\":[";
  for (const UsageRow& row : rows) {
    if (text.back() != '[') text += ',';
    text += to_json(row);
  }
  return text + "]}";
}

Cell tokens_cell(std::int64_t tokens) {
  return {short_count(tokens), std::to_string(tokens)};
}

// Only what such rows can tell.
Table usage_table(const std::vector<UsageRow>& rows, const UsageQuery& query) {
  const bool with_runs = tells_runs(query.by);
  const bool with_usage = tells_usage(query.by);
  std::vector<Column> columns;
  for (const UsageDimension dimension : query.by) columns.push_back({usage_title(dimension)});
  if (with_runs) columns.push_back({"RUNS"});
  if (with_usage) {
    for (const std::string_view title : {"TURNS", "INPUT", "CACHED", "OUTPUT", "COST", "UNPRICED"})
      columns.push_back({title});
  }
  Table table(std::move(columns));
  for (const auto& [names, amounts] : rows) {
    std::vector<Cell> cells;
    for (const UsageDimension dimension : query.by) {
      const std::string& name = names.at(dimension);
      cells.emplace_back(name.empty() ? "-" : name);
    }
    if (with_runs) cells.emplace_back(std::to_string(amounts.runs));
    if (with_usage) {
      const MicroDollars cost = amounts.reported_cost + amounts.table_cost;
      cells.emplace_back(std::to_string(amounts.turns));
      cells.push_back(tokens_cell(amounts.tokens.input + amounts.tokens.cache_write));
      cells.push_back(tokens_cell(amounts.tokens.cached_input));
      cells.push_back(tokens_cell(amounts.tokens.output));
      cells.emplace_back(short_dollars(cost), format_dollars(cost));
      cells.push_back(tokens_cell(amounts.unpriced_tokens));
    }
    table.add(std::move(cells));
  }
  return table;
}

std::string total_line(const std::vector<UsageRow>& rows) {
  UsageAmounts total;
  for (const UsageRow& row : rows) add(total, row.amounts);
  std::string text = fmt::format("{} in all", short_dollars(total.reported_cost + total.table_cost));
  if (total.table_cost > 0) text += fmt::format(", {} of it by the table of prices", short_dollars(total.table_cost));
  if (total.unpriced_tokens > 0) {
    text += fmt::format("; {} tokens have no price: add their models to `prices` in drover.yaml",
                        short_count(total.unpriced_tokens));
  }
  return text;
}

int run(const UsageOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto rows = (*opened)->queue().usage(options.query);
  if (!rows) return context.fail(rows.error());
  if (options.format == Format::kJson) {
    context.out.line(rows_json(*rows));
    return kExitOk;
  }
  if (rows->empty()) {
    context.say("no agent has reported any usage in that time");
    return kExitOk;
  }
  context.out.write(usage_table(*rows, options.query).render(context.out.look()));
  // Runs by class have no cost, and a task with two tags is in two rows: a total would be wrong.
  const bool has_sum = std::ranges::none_of(options.query.by, [](UsageDimension dimension) {
    return dimension == UsageDimension::kClass || dimension == UsageDimension::kTag;
  });
  if (context.out.look().terminal && has_sum) context.say(total_line(*rows));
  return kExitOk;
}

}  // namespace

void add_usage(Verbs& verbs) {
  verbs.add<UsageOptions>(
      {.name = "usage",
       .summary = "Show what agents used and what it cost",
       .footer =
           R"(The ledger has what every run of an agent used, by day, owner, type, runner and model. It outlives the tasks.
INPUT includes tokens written to a cache; CACHED counts tokens read from one. COST is what is known, and UNPRICED counts the
tokens that it leaves out: the agent reported no cost, or was killed before it did, and the policy's `prices` does not list
the model.

By class it counts runs, and by model what they used: a run has one class and may use several models.
By tag it sums up the tasks that are still there; a task with two tags counts for both.

Piped, it prints a tab-separated line per row.

Examples:
  drover usage
  drover usage --by owner,model --from 2026-11-01
  drover usage --by class --type fix --json)"},
      define, run);
}

}  // namespace drover::cli
