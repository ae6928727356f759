#include "core/budget_json.h"

#include "base/json_reader.h"
#include "base/try.h"
#include "core/budget.h"
#include "core/provider_ramp.h"
#include "core/usage.h"
#include "drover/task.h"

namespace drover {
namespace {

void put_amount(json::Writer& out, std::string_view key, BudgetUnit unit, std::int64_t amount) {
  out.key(key);
  unit == BudgetUnit::kUsd ? out.raw(format_dollars(amount)) : out.number(amount);
}

// Whoever adds a few of them gets a number.
constexpr std::int64_t kReadMax = 1'000 * kBudgetMax;

// An amount of a unit that is read beside it.
std::int64_t amount_from(json::Reader& in, std::string_view key, BudgetUnit unit, const std::optional<JsonText>& text) {
  const std::string_view number = text ? std::string_view(*text) : "0";
  if (unit == BudgetUnit::kUsd) {
    const bool is_negative = number.starts_with('-');
    const auto amount = dollars(is_negative ? number.substr(1) : number);
    if (!amount) in.refuse(std::string(key) + ": expected dollars");
    return is_negative ? -amount.value_or(0) : amount.value_or(0);
  }
  std::int64_t amount = 0;
  const bool is_read = json::read_json(number, amount).has_value() && amount >= -kReadMax && amount <= kReadMax;
  if (!is_read) in.refuse(std::string(key) + ": expected a whole number");
  return is_read ? amount : 0;
}

template <class T, class Parse>
void take_name(json::Reader& in, std::string_view key, const std::string& name, Parse parse, T& out) {
  const auto value = parse(name);
  if (!value) return static_cast<void>(in.refuse(std::string(key) + ": unknown"));
  out = *value;
}

struct Stop {
  BudgetStop value{};
};

Status read_json(std::string_view json, Stop& out) {
  json::Reader in(json);
  std::string unit;
  std::string on_breach;
  in.need("gate", out.value.gate).need("unit", unit).need("on_breach", on_breach).need("why", out.value.why);
  take_name(in, "unit", unit, parse_budget_unit, out.value.unit);
  take_name(in, "on_breach", on_breach, parse_on_breach, out.value.on_breach);
  return in.finish();
}

}  // namespace

void write_json(json::Writer& out, const BudgetStatus& budget) {
  const BudgetUnit unit = budget.budget.unit;
  out.begin_object().key("gate").string(budget.gate).key("unit").string(name_of(unit));
  put_amount(out, "limit", unit, budget.limit());
  put_amount(out, "raised", unit, budget.raised);
  put_amount(out, "spent", unit, budget.spent);
  put_amount(out, "set_aside", unit, budget.aside);
  put_amount(out, "left", unit, budget.left());
  out.key("per").string(name_of(budget.budget.per)).key("zone").string(budget.budget.zone);
  out.key("period").string(budget.period).key("resets_at");
  budget.resets_at ? out.string(format_time(*budget.resets_at)) : out.null();
  out.key("on_breach").string(name_of(budget.budget.on_breach)).key("breached").boolean(budget.breached);
  out.key("uncertain").boolean(budget.uncertain).end_object();
}

std::string to_json(const BudgetStatus& budget) {
  json::Writer out;
  write_json(out, budget);
  return std::move(out).take();
}

std::string to_json(const ReportAnswer& answer) {
  json::Writer out;
  out.begin_object().key("stop");
  if (answer.stop) {
    out.begin_object().key("gate").string(answer.stop->gate).key("unit").string(name_of(answer.stop->unit));
    out.key("on_breach").string(name_of(answer.stop->on_breach)).key("why").string(answer.stop->why).end_object();
  } else {
    out.null();
  }
  out.end_object();
  return std::move(out).take();
}

Status read_json(std::string_view json, BudgetStatus& out) {
  json::Reader in(json);
  std::string unit;
  std::string per;
  std::string on_breach;
  std::optional<JsonText> limit;
  std::optional<JsonText> raised;
  std::optional<JsonText> spent;
  std::optional<JsonText> aside;
  in.need("gate", out.gate).need("unit", unit).need("per", per).need("on_breach", on_breach);
  in.need("zone", out.budget.zone).need("period", out.period).get("resets_at", out.resets_at);
  in.get("breached", out.breached).get("uncertain", out.uncertain);
  in.get_any_text("limit", limit).get_any_text("raised", raised).get_any_text("spent", spent);
  in.get_any_text("set_aside", aside);
  take_name(in, "unit", unit, parse_budget_unit, out.budget.unit);
  take_name(in, "per", per, parse_budget_per, out.budget.per);
  take_name(in, "on_breach", on_breach, parse_on_breach, out.budget.on_breach);
  out.raised = amount_from(in, "raised", out.budget.unit, raised);
  out.budget.limit = amount_from(in, "limit", out.budget.unit, limit) - out.raised;
  out.spent = amount_from(in, "spent", out.budget.unit, spent);
  out.aside = amount_from(in, "set_aside", out.budget.unit, aside);
  return in.finish();
}

std::string members_of(const RunStanding& standing) {
  return "\"provider\":" + (standing.provider ? to_json(*standing.provider) : "null") +
         ",\"budget_left\":" + task_budget_json(standing.budget_left);
}

std::string to_json(const RunStanding& standing) {
  return "{" + members_of(standing) + "}";
}

Status read_json(std::string_view json, RunStanding& out) {
  json::Reader in(json);
  std::optional<JsonText> left;
  in.get("provider", out.provider).get_any_text("budget_left", left);
  TRY(in.finish());
  if (left) out.budget_left = TRY(parse_budget_left(*left));
  return {};
}

Status read_json(std::string_view json, ReportAnswer& out) {
  json::Reader in(json);
  std::optional<Stop> stop;
  in.get("stop", stop);
  if (stop) out.stop = std::move(stop->value);
  return in.finish();
}

}  // namespace drover
