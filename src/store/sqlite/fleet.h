// What a fleet shares: its workers, its policy document, the engine's documents.
#pragma once

#include <string>
#include <vector>

#include "store/sqlite/transaction.h"
#include "store/store.h"

namespace drover::sqlite {

void put_worker(Transaction& transaction, const WorkerInfo& worker);
void delete_worker(Transaction& transaction, const std::string& id, const std::string& reason);
// False if there is no such worker.
[[nodiscard]] bool order_drain(Transaction& transaction, const DrainOrder& order);
[[nodiscard]] std::vector<WorkerInfo> read_workers(Connection& db, const Clock& clock);
[[nodiscard]] std::optional<WorkerInfo> read_worker(Connection& db, const std::string& id, const Clock& clock);
[[nodiscard]] std::vector<std::string> delete_silent_workers(Transaction& transaction, Millis silent_for);

[[nodiscard]] Config read_config(Connection& db);
[[nodiscard]] std::vector<ConfigVersion> read_config_versions(Connection& db, int limit);
[[nodiscard]] std::optional<JsonText> read_config_at(Connection& db, std::int64_t version);
// See Store::put_config. False: the version, a gate or a question has moved, nothing is written.
[[nodiscard]] bool write_config(Transaction& transaction, const JsonText& document, std::int64_t based_on_version,
                                std::span<const GateStep> gates, const Weights& weights,
                                std::span<const QuestionStep> questions);

// See Store::restore_config.
void restore_config(Transaction& transaction, std::span<const DumpedPolicy> versions);

[[nodiscard]] StoredDocument read_document(Connection& db, DocumentKind kind);
[[nodiscard]] bool is_any_document_due(Connection& db);
// Whether it is still at the version that the step is based on.
[[nodiscard]] bool still_holds(Connection& db, const DocumentStep& step);
void write_document(Transaction& transaction, const DocumentStep& step);

}  // namespace drover::sqlite
