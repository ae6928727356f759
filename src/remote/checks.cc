#include "remote/checks.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "base/try.h"
#include "core/run_report.h"
#include "core/spec_check.h"
#include "core/task_fields.h"
#include "wire/filter_query.h"

namespace drover {
namespace {

Status check_json(std::string_view field, const std::optional<JsonText>& value) {
  if (!value) return {};
  auto compacted = json::compact(*value);
  if (!compacted) return at_field(field, std::move(compacted.error()));
  return {};
}

Status check_item(const TaskSpec& spec) {
  Status good = check_spec(spec);
  visit_task_fields([&](auto field) {
    if constexpr (field.kIsAsked && field.kIs.kind == FieldKind::kJson) {
      if (good) good = check_json(field.name(), field.asked(spec));
    }
  });
  return good;
}

}  // namespace

Status check_group(std::span<const TaskSpec> group) {
  for (std::size_t i = 0; i < group.size(); ++i) {
    Status good = check_item(group[i]);
    if (good) continue;
    if (group.size() > 1) good.error().message = fmt::format("task {}: {}", i + 1, good.error().message);
    return good;
  }
  return {};
}

Status check_edit_texts(const EditOrder& order) {
  TRY(check_edit(order));
  TRY(check_json("payload", order.payload));
  return check_json("patch", order.patch);
}

Status check_bulk_texts(const BulkOrder& order) {
  TRY(check_texts({order.verdict.by, order.verdict.why, order.to}));
  if (order.filter) {
    for (const auto& [name, value] : query_of_filter(*order.filter)) TRY(check_texts({value}));
  }
  if (order.edit) TRY(check_edit_texts(*order.edit));
  if (!order.retry) return {};
  TRY(check_json("payload", order.retry->payload));
  return check_json("patch", order.retry->patch);
}

Status check_settlement(const Settlement& item) {
  TRY(check_report(item.report));
  const auto* end = std::get_if<Completion>(&item.end);
  return end != nullptr ? check_json("result", end->result) : Status{};
}

Status check_document(const JsonText& document) {
  const auto compacted = json::compact(document);
  if (!compacted) return fail(ErrorCode::kInvalidConfig, compacted.error().message);
  return {};
}

Status check_texts(std::initializer_list<std::string_view> texts) {
  for (const std::string_view text : texts) {
    if (!is_utf8(text)) return fail(ErrorCode::kInvalidArgument, fmt::format("{} is not UTF-8", quoted_excerpt(text)));
  }
  return {};
}

}  // namespace drover
