#include "differential/side.h"

#include "core/alert.h"
#include "core/budget_json.h"
#include "core/question_json.h"
#include "core/session_record.h"
#include "core/stats_json.h"
#include "wire/bulk.h"
#include "wire/conversation.h"
#include "wire/write.h"

namespace drover::test {
namespace {

constexpr int kPage = 100;

}  // namespace

std::string text_of(const Status& status) {
  return status ? "ok" : fmt::format("error {}", error_info(status.error().code).name);
}

std::string text_of(const Enqueued& enqueued) {
  return to_json(enqueued);
}

std::string text_of(const GateStatus& gate) {
  std::string holds;
  for (const Hold& hold : gate.holds) {
    holds +=
        fmt::format(" {}:{}:{}:{}", name_of(hold.source), hold.closed_until ? format_time(*hold.closed_until) : "-",
                    hold.permits.value_or(-1), hold.why);
  }
  return fmt::format("{} [{}] rate {} in_use {} lanes {}", gate.name, holds, gate.rate ? to_string(*gate.rate) : "-",
                     gate.in_use.value_or(-1), gate.waiting_lanes);
}

std::string text_of(const QueueStatus& queue) {
  return fmt::format("{} waiting {} scheduled {} blocked {} running {}", queue.name, queue.waiting, queue.scheduled,
                     queue.blocked, queue.running);
}

std::string text_of(const Explanation& explanation) {
  std::string refusing;
  for (const GateStatus& gate : explanation.refusing) refusing += " " + gate.name;
  std::string chain;
  for (const Explanation::Link& link : explanation.chain) {
    chain += fmt::format(" {} {} {};", link.id.to_string(), name_of(link.reason), link.gate.value_or("-"));
  }
  return fmt::format("{} gate {} refusing{} at {} waits for {} ahead {} chain{}", name_of(explanation.reason),
                     explanation.gate.value_or("-"), refusing, explanation.at ? format_time(*explanation.at) : "-",
                     explanation.waits_for.size(), explanation.ahead.value_or(-1), chain);
}

std::string budgets_of(Side& side) {
  return text_of(side.engine().budgets(), [](const auto& budgets) { return json_lines(budgets); });
}

std::string dump(Side& side, std::int64_t& events_after) {
  std::string text;
  std::optional<std::string> cursor;
  do {
    auto page = side.engine().list({}, kPage, cursor);
    if (!page) return fmt::format("list: {}", to_string(page.error()));
    for (const Task& task : page->tasks) {
      text += to_json(task) + "\n";
      const auto runs = side.engine().runs(task.id);
      if (!runs) return fmt::format("runs: {}", to_string(runs.error()));
      for (const RunSummary& run : *runs) {
        text += fmt::format("  {} {}\n", to_json(run), run.settlement ? to_text(*run.settlement) : "-");
      }
      const auto log = side.engine().log(task.id, 0, kPage);
      if (!log) return fmt::format("log: {}", to_string(log.error()));
      for (const LogRecord& record : log->records) text += "  " + to_json(record) + "\n";
      const auto position = side.store().lane_position(task.id);
      if (!position) return fmt::format("lane_position: {}", to_string(position.error()));
      if (*position)
        text += fmt::format("  parked at {}, {} ahead\n", (*position)->parked_at.value_or("-"), (*position)->ahead);
    }
    cursor = page->cursor;
  } while (cursor);
  while (true) {
    const auto events = side.engine().events(events_after, kPage);
    if (!events) return fmt::format("events: {}", to_string(events.error()));
    if (events->empty()) break;
    for (const Event& event : *events) text += to_json(event) + "\n";
    events_after = events->back().seq;
  }
  text += text_of(side.engine().gates(), [](const auto& gates) { return text_of_all(gates); });
  text += text_of(side.engine().queues(), [](const auto& queues) { return text_of_all(queues); });
  text += budgets_of(side);
  text += text_of(side.engine().questions({}, kPage, std::nullopt),
                  [](const QuestionPage& page) { return json_lines(page.questions); });
  text += text_of(side.engine().sessions({}), [](const SessionPage& page) { return json_lines(page.sessions); });
  text += text_of(side.engine().conversation_queue().conversations({}), [](const auto& page) { return to_json(page); });
  for (const std::string key : {"one", "two"}) {
    text += text_of(side.engine().conversation_queue().conversation({"ann", key}, {}),
                    [](const Conversation& conversation) { return to_json(conversation) + "\n"; });
  }
  text += text_of(side.engine().bulk_operations(), [](const auto& operations) { return json_lines(operations); });
  text += text_of(side.engine().usage({.by = {UsageDimension::kDay, UsageDimension::kOwner, UsageDimension::kType,
                                              UsageDimension::kModel}}),
                  [](const auto& rows) { return json_lines(rows); });
  text += text_of(side.engine().stats_history(HistoryStep::kMinute, kHistoryMinutes),
                  [](const StatsHistory& history) { return to_json(history) + "\n"; });
  text += text_of(side.engine().past_alerts(kPastAlertsMax), [](const auto& alerts) { return json_lines(alerts); });
  for (const auto& owner : {std::optional<std::string>(), std::optional<std::string>("o1")}) {
    text += text_of(side.engine().views(owner), [](const auto& views) { return json_lines(views); });
  }
  const auto findings = side.engine().fsck(FsckMode::kCheck);
  if (!findings) return fmt::format("fsck: {}", to_string(findings.error()));
  for (const Finding& finding : *findings) text += fmt::format("FSCK {} {}\n", finding.code, finding.detail);
  return text;
}

}  // namespace drover::test
