#include "engine/bulk_document.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/try.h"
#include "wire/bulk.h"

namespace drover {

JsonText to_json(const BulkRecord& record) {
  json::Writer out;
  out.begin_object().key("operation").raw(to_json(record.operation)).key("cursor").string(record.cursor);
  out.key("ids").begin_array();
  for (const TaskId& id : record.operation.order.ids) out.string(id.to_string());
  out.end_array().key("next_id").number(static_cast<std::int64_t>(record.next_id)).end_object();
  return std::move(out).take();
}

Status read_json(std::string_view json, BulkRecord& out) {
  json::Reader in(json);
  std::vector<TaskId> ids;
  std::uint64_t next_id = 0;
  in.need("operation", out.operation).need("cursor", out.cursor).need("ids", ids).need("next_id", next_id);
  TRY(in.finish());
  out.operation.order.ids = std::move(ids);
  out.next_id = next_id;
  return {};
}

JsonText to_json(const BulkDocument& document) {
  json::Writer out;
  out.begin_object().key("operations").begin_array();
  for (const BulkRecord& record : document.records) out.raw(to_json(record));
  out.end_array().end_object();
  return std::move(out).take();
}

Result<BulkDocument> parse_bulk_document(const StoredDocument& stored) {
  BulkDocument document{.version = stored.version};
  if (stored.version == 0) return document;
  json::Reader in(stored.text);
  in.need("operations", document.records);
  if (const Status read = in.finish(); !read) {
    return fail(ErrorCode::kStoreDamaged, "the record of bulk operations is unreadable: " + read.error().message);
  }
  return document;
}

Result<BulkDocument> read_bulk_document(Store& store) {
  const auto stored = TRY(store.document(DocumentKind::kBulk));
  return parse_bulk_document(stored);
}

DocumentStep step_of(const BulkDocument& document, std::vector<EventDraft> events) {
  return {.kind = DocumentKind::kBulk,
          .expected_version = document.version,
          .text = to_json(document),
          .due = std::ranges::any_of(document.records, &BulkRecord::is_running),
          .events = std::move(events)};
}

Result<bool> put_bulk_document(Store& store, const BulkDocument& document, std::vector<EventDraft> events) {
  StepGroup group;
  group.document = step_of(document, std::move(events));
  const auto applied = TRY(store.apply(std::span(&group, 1)));
  return applied.front() == Applied::kDone;
}

Result<std::vector<Finding>> check_bulk_document(Store& store, FsckMode mode) {
  const auto stored = TRY(store.document(DocumentKind::kBulk));
  const auto document = parse_bulk_document(stored);
  std::vector<Finding> findings;
  if (!document) {
    findings.push_back({.code = "bulk_unreadable", .detail = document.error().message + "; a repair forgets them"});
  } else if (stored.due != step_of(*document, {}).due) {
    findings.push_back({.code = "bulk_due",
                        .detail = stored.due ? "sweepers look for a bulk operation, and none runs"
                                             : "a bulk operation runs, and no sweeper looks for it"});
  }
  if (findings.empty() || mode == FsckMode::kCheck) return findings;
  BulkDocument right{.version = stored.version};
  if (document) right = *document;
  findings.front().repaired = TRY(put_bulk_document(store, right, {}));
  return findings;
}

}  // namespace drover
