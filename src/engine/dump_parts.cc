#include "engine/dump_parts.h"

#include <algorithm>
#include <ranges>

#include "base/json.h"
#include "base/try.h"
#include "core/gate.h"
#include "core/gate_json.h"
#include "core/question_json.h"
#include "engine/bulk_document.h"
#include "wire/write.h"

namespace drover {
namespace {

constexpr int kDumpPage = 500;
constexpr int kRunsMax = 1'000'000;
constexpr std::size_t kPartBytes = 1U << 20;
constexpr std::size_t kPolicyBytes = 4U << 20;

std::string header(Time now, const StoreExtent& extent) {
  json::Writer out;
  out.begin_object().key("format").string(kDumpFormat).key("version").number(kDumpVersion);
  out.key("at").string(format_time(now)).key("last_event").number(extent.seq).key("epochs").begin_array();
  for (const Epoch& epoch : extent.epochs) out.raw(to_json(epoch));
  out.end_array().end_object();
  return std::move(out).take();
}

std::string gate_text(const GateRecord& gate) {
  json::Writer out;
  out.begin_object().key("name").string(gate.name).key("record").raw(gate_to_json(gate)).end_object();
  return std::move(out).take();
}

// A page tells what was left out of all runs on it: one with a single piece tells of one run.
Status add_left_out(Store& store, const TaskId& id, const LogRecord& piece, DumpedTask& task) {
  if (task.left_out.contains(piece.run)) return {};
  const auto alone = TRY(store.log(id, piece.seq - 1, 1));
  task.left_out[piece.run] = alone.left_out_bytes;
  return {};
}

Status add_log(Store& store, const TaskId& id, DumpedTask& task) {
  std::int64_t after = 0;
  for (;;) {
    auto page = TRY(store.log(id, after, kDumpPage));
    if (page.records.empty()) return {};
    for (LogRecord& piece : page.records) {
      TRY(add_left_out(store, id, piece, task));
      after = piece.seq;
      task.log.push_back(std::move(piece));
    }
  }
}

Status add_task(Store& store, const TaskId& id, DumpPart& part) {
  auto read = TRY(store.read(std::span(&id, 1), Parts::kAll));
  std::optional<TaskRecord>& record = read.front();
  if (!record) return {};  // retention took it meanwhile
  DumpedTask task{.record = *std::move(record), .runs = {}, .log = {}, .left_out = {}};
  auto runs = TRY(store.runs(id, kRunsMax));
  std::erase_if(runs, [](const RunSummary& run) { return !run.ended_at; });
  task.runs.assign(runs.rbegin(), runs.rend());
  TRY(add_log(store, id, task));
  auto asked = TRY(store.questions_of(id));
  for (QuestionRecord& one : asked) task.questions.push_back(std::move(one.question));
  part.text += dump_line("task", to_dump(task));
  ++part.count;
  return {};
}

// The policy, and its versions, oldest first; of very many, or very large ones, the older ones are left out. The newest
// that is read is the policy, whatever is applied meanwhile.
Status add_policy(Store& store, DumpPart& part) {
  const auto versions = TRY(store.config_versions(kPageMax));
  std::vector<std::string> lines;
  std::size_t bytes = 0;
  for (const ConfigVersion& version : versions) {
    auto document = TRY(store.config_at(version.version));
    if (!document || bytes >= kPolicyBytes) break;
    if (lines.empty()) part.text += dump_line("policy", *document);
    lines.push_back(dump_line("policy_version", to_dump(DumpedPolicy{version, *std::move(document)})));
    bytes += lines.back().size();
  }
  for (const std::string& line : std::views::reverse(lines)) part.text += line;
  return {};
}

Status add_bulk_operations(Store& store, DumpPart& part) {
  const auto document = TRY(read_bulk_document(store));
  for (const BulkRecord& record : document.records) part.text += dump_line("bulk", to_json(record));
  return {};
}

Status add_documents(Store& store, DumpPart& part) {
  for (const DocumentKind kind : kDumpedDocuments) {
    const auto document = TRY(store.document(kind));
    if (document.version == 0) continue;
    json::Writer out;
    out.begin_object().key("name").string(name_of(kind)).key("text").string(document.text).end_object();
    part.text += dump_line("document", std::move(out).take());
  }
  return {};
}

// Those of tasks go with their tasks.
Status add_gate_questions(Store& store, DumpPart& part) {
  std::optional<QuestionId> before;
  for (;;) {
    const auto page = TRY(store.list_questions({}, kDumpPage, before));
    for (const Question& question : page.questions) {
      if (question.gate) part.text += dump_line("question", to_json(question));
    }
    if (!page.cursor) return {};
    before = QuestionId::parse(*page.cursor);
  }
}

// Those that no list of gates shows.
Status add_sessions(Store& store, DumpPart& part) {
  constexpr std::string_view kPrefix = "session:";
  std::string after;
  for (;;) {
    const auto states = TRY(store.gates_from(std::string(kPrefix), after, kDumpPage));
    for (const GateState& gate : states) {
      ++part.count;
      part.text += dump_line("gate", gate_text(gate.record));
    }
    if (std::cmp_less(states.size(), kDumpPage)) return {};
    after = states.back().record.name;
  }
}

}  // namespace

std::string dump_line(std::string_view kind, std::string_view value) {
  json::Writer out;
  out.begin_object().key(kind).raw(value).end_object();
  return std::move(out).take() + "\n";
}

Result<DumpPart> dump_head(Store& store) {
  const auto now = TRY(store.now());
  const auto state = TRY(store.state());
  const auto gates = TRY(store.gates());
  DumpPart part{.text = dump_line("header", header(now, state.extent))};
  TRY(add_policy(store, part));
  TRY(add_bulk_operations(store, part));
  for (const GateState& gate : gates) {
    if (is_default(gate.record)) continue;
    ++part.count;
    part.text += dump_line("gate", gate_text(gate.record));
  }
  TRY(add_sessions(store, part));
  TRY(add_gate_questions(store, part));
  TRY(add_documents(store, part));
  const auto days = store.ledger_days();
  if (!days) return std::unexpected(days.error());
  for (const std::string& day : *days) {
    const auto entries = store.ledger(day);
    if (!entries) return std::unexpected(entries.error());
    for (const LedgerEntry& entry : *entries) part.text += dump_line("usage", to_dump(entry));
  }
  for (const SpendEntry& entry : TRY(store.spend())) {
    // What is set aside follows from the tasks, and none runs in a store that took a dump.
    if (!entry.period.empty()) part.text += dump_line("spend", to_dump(entry));
  }
  return part;
}

Result<DumpIds> dump_ids(Store& store, const std::optional<std::string>& cursor) {
  auto page = TRY(store.list({}, kDumpPage, cursor, Parts::kHead));
  DumpIds found{.ids = {}, .cursor = std::move(page.cursor)};
  for (const TaskRecord& record : page.records) found.ids.push_back(record.task.id);
  return found;
}

Result<DumpPart> dump_tasks(Store& store, std::span<const TaskId> ids) {
  DumpPart part;
  for (const TaskId& id : ids) {
    if (part.text.size() >= kPartBytes) break;
    TRY(add_task(store, id, part));
    ++part.next;
  }
  return part;
}

Result<DumpPart> dump_events(Store& store, std::int64_t after) {
  const auto events = TRY(store.events(after, kDumpPage));
  DumpPart part{.text = {}, .count = static_cast<std::int64_t>(events.size()), .next = after};
  for (const Event& event : events) {
    part.text += dump_line("event", to_dump(event));
    part.next = event.seq;
  }
  return part;
}

}  // namespace drover
