// A whole store as lines of text, and back into an empty one of any kind. docs/operate/backup.md is the specification.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/administration.h"
#include "core/bulk.h"
#include "core/dump.h"
#include "core/gate_name.h"
#include "engine/engine.h"

namespace drover {

// What takes whole lines, with their ends, and is told how far it has come.
struct DumpSink {
  std::function<Status(std::string_view lines)> text;
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

// Oldest first, in an order that depends on nothing but what is stored. Holds a few MiB, or one task, at a time, and
// the ids of all.
[[nodiscard]] Result<DumpCounts> export_dump(Administration& store, const DumpSink& sink);

// The gate that is closed while an import into its store has not been finished.
[[nodiscard]] bool is_import_mark(const GateStatus& gate);
// Whether an import into this store has begun and not been finished.
[[nodiscard]] Result<bool> is_importing(Store& store);

// Line by line; then finish(). Until that has succeeded the gate `all` is closed, so that nobody works on half a store.
// Nothing may be there but tokens; events are numbered behind theirs.
class DumpImport {
 public:
  // Both outlive it.
  DumpImport(Store& store, Engine& engine, Rng& rng) : store_(store), engine_(engine), rng_(rng) {}

  // kWrongState: there is something in the store already.
  [[nodiscard]] Status begin();
  // kInvalidArgument names the line.
  [[nodiscard]] Status take(std::string_view line);
  [[nodiscard]] Result<DumpCounts> finish();
  [[nodiscard]] const DumpCounts& counts() const { return counts_; }

 private:
  Status take_value(const std::string& kind, const std::string& text);
  Status take_header(const std::string& text);
  Status take_policy(const std::string& text);
  Status take_policy_version(const std::string& text);
  Status take_bulk(const std::string& text);
  Status take_gate(const std::string& text);
  Status take_question(const std::string& text);
  Status take_usage(const std::string& text);
  Status take_spend(const std::string& text);
  Status take_document(const std::string& text);
  Status take_task(const std::string& text);
  Status take_event(const std::string& text);
  Status take_end(const std::string& text);
  Status flush();
  Status mend();
  Status put_policy();
  Status put_questions();
  Status put_policy_versions();
  Status put_bulk();
  Status put_documents();
  Status put_epochs();
  Status close_gate();
  Status open_gate();

  Store& store_;
  Engine& engine_;
  Rng& rng_;
  std::int64_t line_number_ = 0;
  DumpCounts counts_;
  bool ended_ = false;
  StoreExtent dumped_;  // of the store that was dumped, as far as the dump reaches
  std::optional<JsonText> policy_;
  std::vector<DumpedPolicy> policy_versions_;
  std::vector<BulkRecord> bulk_;
  std::vector<GateRecord> gates_;
  std::unordered_set<TaskId> ids_;  // of all tasks so far
  std::vector<DumpedTask> tasks_;
  std::vector<Event> events_;
  std::vector<LedgerEntry> ledger_;
  std::vector<SpendEntry> spend_;
  std::vector<QuestionStep> questions_;  // of gates
  std::map<DocumentKind, JsonText> documents_;
  ConversationImport conversations_;
  std::map<LedgerKey, UsageAmounts> ledger_sums_;  // by owner, type and runner
  std::size_t bytes_ = 0;                          // of what waits to be written
  std::int64_t event_offset_ = 0;                  // of the numbers here to those in the dump
  std::int64_t last_event_ = 0;
  std::int64_t last_written_event_ = 0;
};

}  // namespace drover
