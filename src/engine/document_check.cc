#include "engine/document_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/try.h"
#include "core/stats_history.h"
#include "engine/bulk_document.h"
#include "engine/health.h"
#include "engine/token_document.h"
#include "engine/views.h"

namespace drover {
namespace {

struct DocumentRule {
  DocumentKind kind;
  bool may_begin_anew;
  Status (*read)(const StoredDocument& document);
};

template <class T>
Status status_of(const Result<T>& result) {
  return result ? Status{} : Status(std::unexpected(result.error()));
}

// The bulk operations have a check of their own, and the believed time begins anew by itself.
constexpr std::array kDocumentRules{
    DocumentRule{DocumentKind::kHealth, true,
                 [](const StoredDocument& document) { return status_of(parse_health_memory(document.text)); }},
    DocumentRule{DocumentKind::kAccessTokens, false,
                 [](const StoredDocument& document) {
                   return status_of(parse_token_document(document.version, document.text));
                 }},
    DocumentRule{DocumentKind::kHistory, true,
                 [](const StoredDocument& document) { return status_of(HistoryDocument::parse(document.text)); }},
    DocumentRule{DocumentKind::kPastAlerts, true,
                 [](const StoredDocument& document) { return status_of(parse_past_alerts(document.text)); }},
    DocumentRule{DocumentKind::kViews, true,
                 [](const StoredDocument& document) { return status_of(parse_views(document.text)); }},
};
static_assert(kDocumentRules.size() + 2 == kDocumentKindCount);

}  // namespace

Result<std::vector<Finding>> check_documents(Store& store, FsckMode mode) {
  auto findings = TRY(check_bulk_document(store, mode));
  for (const DocumentRule& rule : kDocumentRules) {
    const auto document = TRY(store.document(rule.kind));
    if (document.version == 0) continue;
    const Status readable = rule.read(document);
    if (readable) continue;
    Finding finding{
        .code = "document_unreadable",
        .detail = fmt::format("{}: {}; {}", name_of(rule.kind), readable.error().message,
                              rule.may_begin_anew ? "a repair begins it anew" : "restore it from a backup")};
    if (mode == FsckMode::kRepair && rule.may_begin_anew)
      finding.repaired = TRY(store.put_document(rule.kind, "{}", document.version, {}));
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace drover
