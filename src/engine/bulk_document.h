// All bulk operations of a store: one document, changed under compare-and-set. core/bulk.h has the rules.
#pragma once

#include <string_view>
#include <vector>

#include "core/bulk.h"
#include "store/store.h"

namespace drover {

struct BulkDocument {
  std::int64_t version = 0;
  std::vector<BulkRecord> records{};  // in the order of their start
};

// Also a line of a dump.
[[nodiscard]] JsonText to_json(const BulkRecord& record);
[[nodiscard]] Status read_json(std::string_view json, BulkRecord& out);

[[nodiscard]] JsonText to_json(const BulkDocument& document);
[[nodiscard]] Result<BulkDocument> parse_bulk_document(const StoredDocument& stored);
[[nodiscard]] Result<BulkDocument> read_bulk_document(Store& store);

// Its way to the next version. Sweepers have work with it while an operation runs.
[[nodiscard]] DocumentStep step_of(const BulkDocument& document, std::vector<EventDraft> events);
// Writes it, with nothing else. False: somebody else has changed it.
[[nodiscard]] Result<bool> put_bulk_document(Store& store, const BulkDocument& document,
                                             std::vector<EventDraft> events);

// What is wrong with the document in the store; if it is to be repaired, it is.
[[nodiscard]] Result<std::vector<Finding>> check_bulk_document(Store& store, FsckMode mode);

}  // namespace drover
