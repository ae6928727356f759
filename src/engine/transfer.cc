#include "engine/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "base/try.h"
#include "core/question_json.h"
#include "core/stats_history.h"
#include "engine/bulk_document.h"
#include "engine/dump_parts.h"
#include "engine/gate_status.h"
#include "policy/document.h"
#include "wire/read.h"

namespace drover {
namespace {

// What is written in one go on import.
constexpr std::string_view kImporter = "drover import";
constexpr int kPage = 500;
constexpr std::size_t kBatchTasks = 200;
constexpr std::size_t kBatchEvents = 2'000;
constexpr std::size_t kBatchBytes = 4U << 20;

std::string counts_text(const DumpCounts& counts) {
  json::Writer out;
  out.begin_object().key("gates").number(counts.gates).key("tasks").number(counts.tasks);
  out.key("events").number(counts.events).end_object();
  return std::move(out).take();
}

class DumpExport {
 public:
  DumpExport(Administration& store, const DumpSink& sink) : store_(store), sink_(sink) {}

  Result<DumpCounts> run() {
    Status status = put(store_.dump_head(), counts_.gates);
    if (status) status = put_conversations();
    if (status) status = put_tasks();
    if (status) status = put_events();
    if (status) status = sink_.text(dump_line("end", counts_text(counts_)));
    if (!status) return std::unexpected(status.error());
    return counts_;
  }

 private:
  Status put(const Result<DumpPart>& part, std::int64_t& count) {
    if (!part) return std::unexpected(part.error());
    count += part->count;
    return sink_.text(part->text);
  }

  Status put_conversations() {
    std::optional<std::string> cursor;
    do {
      const auto part = TRY(store_.dump_conversations(cursor));
      TRY(sink_.text(part.text));
      cursor = part.cursor;
    } while (cursor);
    return {};
  }

  // Pages come newest first.
  Result<std::vector<TaskId>> ids_oldest_first() {
    std::vector<TaskId> ids;
    std::optional<std::string> cursor;
    do {
      auto page = TRY(store_.dump_ids(cursor));
      ids.insert(ids.end(), page.ids.begin(), page.ids.end());
      cursor = std::move(page.cursor);
    } while (cursor);
    std::ranges::reverse(ids);
    return ids;
  }

  Status put_tasks() {
    const auto ids = TRY(ids_oldest_first());
    for (std::span<const TaskId> left = ids; !left.empty();) {
      const auto part = store_.dump_tasks(left.first(std::min(left.size(), kDumpIdsMax)));
      TRY(put(part, counts_.tasks));
      left = left.subspan(static_cast<std::size_t>(part->next));
      sink_.progress(static_cast<std::int64_t>(ids.size() - left.size()), static_cast<std::int64_t>(ids.size()));
    }
    return {};
  }

  Status put_events() {
    for (std::int64_t after = 0;;) {
      const auto part = store_.dump_events(after);
      TRY(put(part, counts_.events));
      if (part->count == 0) return {};
      after = part->next;
    }
  }

  Administration& store_;
  const DumpSink& sink_;
  DumpCounts counts_;
};

bool is_import_mark(std::string_view gate, std::span<const Hold> holds) {
  return gate == kAllGate && std::ranges::any_of(holds, [](const Hold& hold) {
           return hold.source == HoldSource::kOperator && hold.by == kImporter;
         });
}

bool is_marked(const GateState& gate) {
  return is_import_mark(gate.record.name, gate.record.holds);
}

std::unexpected<Error> bad_dump(std::string what) {
  return fail(ErrorCode::kInvalidArgument, std::move(what));
}

std::unexpected<Error> changed_by_others() {
  return fail(ErrorCode::kWrongState, "something else changed this store during the import");
}

// Who asks a server to import has a token there, and may have signed in: both are events.
Result<bool> has_events_of_others(Store& store) {
  for (std::int64_t after = 0;;) {
    const auto events = TRY(store.events(after, kPage));
    if (events.empty()) return false;
    const auto is_of_access = [](const Event& event) {
      return event.name.starts_with("token.") || event.name.starts_with("signin.");
    };
    if (!std::ranges::all_of(events, is_of_access)) return true;
    after = events.back().seq;
  }
}

std::unexpected<Error> not_empty(const std::vector<GateState>& gates) {
  if (std::ranges::any_of(gates, is_marked)) {
    return fail(
        ErrorCode::kWrongState,
        "an import into this store is under way or was interrupted; if it was interrupted, remove the store and "
        "import into a new one");
  }
  return fail(ErrorCode::kWrongState, "this store is not empty; a dump can be imported only into an empty store");
}

}  // namespace

bool is_import_mark(const GateStatus& gate) {
  return is_import_mark(gate.name, gate.holds);
}

Result<DumpCounts> export_dump(Administration& store, const DumpSink& sink) {
  return DumpExport(store, sink).run();
}

Result<bool> is_importing(Store& store) {
  const std::string name(kAllGate);
  const auto gates = TRY(store.read_gates(std::span(&name, 1)));
  return is_marked(gates.front());
}

Result<bool> Engine::is_importing() {
  return drover::is_importing(store_);
}

Status DumpImport::begin() {
  const auto gates = TRY(store_.gates());
  const auto config = TRY(store_.config());
  const auto last_event = TRY(store_.last_event_seq());
  const auto tasks = TRY(store_.list({}, 1, std::nullopt, Parts::kHead));
  const auto others = TRY(has_events_of_others(store_));
  const auto conversations = TRY(store_.list_conversations(std::nullopt, {}, 1));
  const bool is_empty = gates.empty() && config.version == 0 && tasks.records.empty() && conversations.empty();
  if (!is_empty || others) return not_empty(gates);
  last_event_ = last_written_event_ = last_event;
  return {};
}

Status DumpImport::close_gate() {
  const auto now = TRY(store_.now());
  GateRecord closed{.name = std::string(kAllGate)};
  set_hold(closed, {.source = HoldSource::kOperator,
                    .closed_until = kUntilOpened,
                    .permits = std::nullopt,
                    .why = "an import has not finished",
                    .by = std::string(kImporter),
                    .since = now});
  StepGroup group;
  group.gates.push_back({.name = closed.name, .expected_revision = 0, .next = closed});
  const auto applied = TRY(store_.apply(std::span(&group, 1)));
  return applied.front() == Applied::kDone ? Status() : Status(not_empty({}));
}

Status DumpImport::take(std::string_view line) {
  ++line_number_;
  const auto complain = [&](const Error& error) {
    return fail(error.code, fmt::format("line {}: {}", line_number_, error.message), error.operation);
  };
  const auto value = json::parse(line);
  if (!value) return complain(value.error());
  const json::Value::Object* members = value->as_object();
  if (members == nullptr || members->size() != 1) {
    return complain({ErrorCode::kInvalidArgument, "this is not a line of a dump", ""});
  }
  const auto& [kind, content] = members->front();
  bytes_ += line.size();
  if (auto taken = take_value(kind, json::dump(content)); !taken) return complain(taken.error());
  return {};
}

Status DumpImport::take_value(const std::string& kind, const std::string& text) {
  if (ended_) return bad_dump("there is more after the end of the dump");
  if (line_number_ == 1)
    return kind == "header" ? take_header(text) : bad_dump("this is not a dump: its header is missing");
  if (kind == "policy") return take_policy(text);
  if (kind == "policy_version") return take_policy_version(text);
  if (kind == "bulk") return take_bulk(text);
  if (kind == "gate") return take_gate(text);
  if (kind == "question") return take_question(text);
  if (kind == "usage") return take_usage(text);
  if (kind == "spend") return take_spend(text);
  if (kind == "document") return take_document(text);
  if (kind == "conversation") return conversations_.take_head(text, store_);
  if (kind == "conversation_item") return conversations_.take_item(text);
  if (kind == "task") return take_task(text);
  if (kind == "event") return take_event(text);
  if (kind == "end") return take_end(text);
  return bad_dump(fmt::format("unknown kind {}", quoted_excerpt(kind)));
}

Status DumpImport::take_header(const std::string& text) {
  json::Reader in(text);
  std::string format;
  int version = 0;
  in.get("format", format).get("version", version);
  if (format != kDumpFormat) return bad_dump("this is not a dump: its header names another format");
  if (version != kDumpVersion) return bad_dump(fmt::format("this version reads dumps of version {}", kDumpVersion));
  in.need("last_event", dumped_.seq).need("epochs", dumped_.epochs);
  TRY(in.finish());
  TRY(check_extent(dumped_));
  return close_gate();
}

Status DumpImport::take_policy(const std::string& text) {
  TRY(parse_policy(text));
  if (policy_) return bad_dump("this is a second policy; a dump has at most one");
  policy_ = text;
  return {};
}

Status DumpImport::take_policy_version(const std::string& text) {
  auto version = TRY(policy_from_dump(text));
  const bool is_next = policy_versions_.empty() || policy_versions_.back().version.version < version.version.version;
  if (!is_next || policy_versions_.size() >= static_cast<std::size_t>(kPageMax)) {
    return bad_dump("the versions of the policy are not in order, or too many");
  }
  policy_versions_.push_back(std::move(version));
  return {};
}

// Its place among the tasks means nothing in another store, and nobody asked for it here: it is stopped.
Status DumpImport::take_bulk(const std::string& text) {
  BulkRecord record;
  TRY(read_json(text, record));
  if (bulk_.size() >= kBulkRunningMax + kBulkEndedMax) return bad_dump("there are too many bulk operations");
  if (record.is_running()) {
    record.operation.stopped = {.by = std::string(kImporter), .why = "the store was restored from a dump"};
    end_operation(record, BulkState::kStopped, record.operation.updated_at);
  }
  bulk_.push_back(std::move(record));
  return {};
}

Status DumpImport::take_gate(const std::string& text) {
  const auto value = json::parse(text);
  const json::Value* name = value ? value->find("name") : nullptr;
  const json::Value* record = value ? value->find("record") : nullptr;
  if (name == nullptr || name->as_string() == nullptr || record == nullptr)
    return bad_dump("a gate needs a name and a record");
  const bool is_other_owners = *name->as_string() == kOtherOwnersGate;
  if (auto valid = check_gate_name(*name->as_string()); !valid && !is_other_owners) return valid;
  auto gate = TRY(gate_from_json(json::dump(*record)));
  gate.name = *name->as_string();
  if (std::ranges::find(gates_, gate.name, &GateRecord::name) != gates_.end())
    return bad_dump("this gate is in the dump twice");
  gates_.push_back(std::move(gate));
  ++counts_.gates;
  return {};
}

Status DumpImport::take_question(const std::string& text) {
  Question question;
  TRY(read_json(text, question));
  if (!question.gate || question.task_id) return bad_dump("a question of a task stands with its task");
  questions_.push_back({.next = std::move(question)});
  return {};
}

Status DumpImport::take_usage(const std::string& text) {
  auto entry = ledger_from_dump(text);
  if (!entry) return std::unexpected(entry.error());
  add(ledger_sums_[{.owner = entry->key.owner, .type = entry->key.type, .runner = entry->key.runner}], entry->amounts);
  ledger_.push_back(*std::move(entry));
  return bytes_ >= kBatchBytes ? flush() : Status();
}

Status DumpImport::take_spend(const std::string& text) {
  spend_.push_back(TRY(spend_from_dump(text)));
  return bytes_ >= kBatchBytes ? flush() : Status();
}

Status DumpImport::take_document(const std::string& text) {
  json::Reader in(text);
  std::string name;
  std::string document;
  in.need("name", name).need("text", document);
  TRY(in.finish());
  const auto kind =
      std::ranges::find(kDumpedDocuments, name, [](DocumentKind dumped) { return std::string(name_of(dumped)); });
  if (kind == kDumpedDocuments.end()) return bad_dump(fmt::format("unknown document {}", quoted_excerpt(name)));
  if (!json::parse(document, json::kDepthMax, json::kAnyKeys)) return bad_dump("a document that is not JSON");
  if (!documents_.emplace(*kind, std::move(document)).second) return bad_dump("this document is in the dump twice");
  return {};
}

Status DumpImport::take_task(const std::string& text) {
  auto task = TRY(task_from_dump(text));
  if (!ids_.insert(task.record.task.id).second) return bad_dump("this task is in the dump twice");
  // A worker that this store does not know ran it: what follows is what follows a lost lease.
  if (task.record.task.state == TaskState::kRunning) task.record.lease = new_lease_id(rng_);
  tasks_.push_back(std::move(task));
  ++counts_.tasks;
  return tasks_.size() >= kBatchTasks || bytes_ >= kBatchBytes ? flush() : Status();
}

Status DumpImport::take_event(const std::string& text) {
  auto event = TRY(event_from_dump(text));
  // Behind those of the store, without a gap; in an empty store they keep their numbers.
  if (counts_.events == 0 && last_event_ > 0) event_offset_ = last_event_ + 1 - event.seq;
  dumped_.seq = std::max(dumped_.seq, event.seq);
  event.seq += event_offset_;
  if (event.seq <= last_event_) return bad_dump("the events are not in the order of their numbers");
  last_event_ = event.seq;
  events_.push_back(std::move(event));
  ++counts_.events;
  return events_.size() >= kBatchEvents || bytes_ >= kBatchBytes ? flush() : Status();
}

Status DumpImport::take_end(const std::string& text) {
  if (text != counts_text(counts_))
    return bad_dump(fmt::format("the dump says that it has {}, but it has {}", text, counts_text(counts_)));
  // One entry may take back what another has booked; nobody has used less than nothing.
  for (const auto& [key, amounts] : ledger_sums_) {
    const AmountNumbers numbers = numbers_of(amounts);
    if (std::ranges::any_of(numbers, [](std::int64_t number) { return number < 0; })) {
      return bad_dump(fmt::format("the usage of owner {} and type {} is negative", key.owner, key.type));
    }
  }
  ended_ = true;
  return {};
}

Status DumpImport::flush() {
  bytes_ = 0;
  if (tasks_.empty() && events_.empty() && ledger_.empty() && spend_.empty()) return {};
  const auto last_event = TRY(store_.last_event_seq());
  if (last_event != last_written_event_) return changed_by_others();
  TRY(store_.restore(tasks_, events_, ledger_, spend_));
  last_written_event_ = last_event_;
  tasks_.clear();
  events_.clear();
  ledger_.clear();
  spend_.clear();
  return {};
}

Status DumpImport::mend() {
  const auto findings = TRY(store_.fsck(FsckMode::kRepair));
  const auto left = std::ranges::find(findings, false, &Finding::repaired);
  if (left == findings.end()) return {};
  return fail(ErrorCode::kStoreDamaged, fmt::format("the dump contradicts itself: {}: {}", left->code, left->detail));
}

Status DumpImport::put_policy() {
  StepGroup group;
  for (const GateRecord& gate : gates_) {
    if (gate.name != kAllGate) group.gates.push_back({.name = gate.name, .expected_revision = 0, .next = gate});
  }
  if (!policy_) {
    if (group.gates.empty()) return {};
    const auto applied = TRY(store_.apply(std::span(&group, 1)));
    return applied.front() == Applied::kDone ? Status() : Status(changed_by_others());
  }
  const auto policy = TRY(parse_policy(*policy_));
  const auto stored = TRY(store_.put_config(*policy_, 0, group.gates, weights_of(policy), {}));
  return stored ? Status() : Status(changed_by_others());
}

Status DumpImport::put_questions() {
  for (std::span<const QuestionStep> left = questions_; !left.empty();) {
    const auto some = left.first(std::min(left.size(), kBatchTasks));
    StepGroup group;
    group.questions.assign(some.begin(), some.end());
    const auto applied = TRY(store_.apply(std::span(&group, 1)));
    if (applied.front() != Applied::kDone) return changed_by_others();
    left = left.subspan(some.size());
  }
  return {};
}

Status DumpImport::put_policy_versions() {
  if (policy_versions_.empty()) return {};
  if (policy_versions_.back().document != policy_) {
    return bad_dump("the newest version of the policy is not the policy of the dump");
  }
  return store_.restore_config(policy_versions_);
}

Status DumpImport::put_bulk() {
  if (bulk_.empty()) return {};
  const auto stored = TRY(store_.document(DocumentKind::kBulk));
  const bool written = TRY(put_bulk_document(store_, {.version = stored.version, .records = bulk_}, {}));
  return written ? Status() : Status(changed_by_others());
}

// Events that the statistics have counted have other numbers here.
Status DumpImport::put_documents() {
  for (auto& [kind, text] : documents_) {
    if (kind == DocumentKind::kHistory) {
      auto history = TRY(HistoryDocument::parse(text));
      history.renumber(event_offset_);
      text = history.to_json();
    }
    for (bool is_written = false; !is_written;) {
      const auto there = TRY(store_.document(kind));
      is_written = TRY(store_.put_document(kind, text, there.version, {}));
    }
  }
  return {};
}

// Whoever saw more of the dumped store than the dump has finds out: docs/internals/store-epochs.md.
Status DumpImport::put_epochs() {
  const auto state = TRY(store_.state());
  const auto restored = TRY(store_.restore_epochs(join_epochs(dumped_, state.extent.epochs)));
  return restored ? Status() : Status(changed_by_others());
}

// The last step: from here on the store is whole.
Status DumpImport::open_gate() {
  const std::string name(kAllGate);
  const auto read = TRY(store_.read_gates(std::span(&name, 1)));
  const auto dumped = std::ranges::find(gates_, name, &GateRecord::name);
  GateStep step{.name = name, .expected_revision = read.front().record.revision};
  step.next = dumped != gates_.end() ? *dumped : GateRecord{.name = name};
  StepGroup group;
  group.gates.push_back(std::move(step));
  const auto applied = TRY(store_.apply(std::span(&group, 1)));
  if (applied.front() != Applied::kDone) return changed_by_others();
  return {};
}

Result<DumpCounts> DumpImport::finish() {
  if (!ended_) return bad_dump("the dump is cut off: its end is missing");
  Status status = flush();
  if (status) status = mend();
  if (status) status = put_policy();
  if (status) status = put_questions();
  if (status) status = put_policy_versions();
  if (status) status = put_bulk();
  if (status) status = put_documents();
  if (status) status = conversations_.finish(store_);
  if (status) status = put_epochs();
  if (status) status = open_gate();
  if (!status) return std::unexpected(status.error());
  TRY(engine_.requeue_stalled(Millis{0}));
  return counts_;
}

}  // namespace drover
