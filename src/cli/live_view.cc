#include "cli/live_view.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/try.h"
#include "cli/display_text.h"
#include "cli/task_view.h"

namespace drover::cli {
namespace {

constexpr int kPageEvents = 200;

}  // namespace

Status LiveView::refresh() {
  std::string lines;
  for (bool has_more = true; has_more;) {
    const auto news = TRY(cursor_.next(queue_, kPageEvents));
    if (const auto& gap = news.went_back) lines += gap_line(*gap) + "\n";
    for (const Event& event : news.events) {
      count(event);
      lines += event_line(event, out_.look());
    }
    has_more = news.has_more;
  }
  const auto backlog = TRY(queue_.backlog(serves_));
  std::string status = status_line(backlog);
  if (lines.empty() && status == status_) return {};
  clear_status();
  out_.write(lines + status);
  status_ = std::move(status);
  return {};
}

void LiveView::count(const Event& event) {
  if (event.name == "task.completed") ++completed_;
  if (event.name == "task.failed") ++failed_;
  if (event.name == "task.cancelled") ++cancelled_;
  if (event.name == "task.deadline_passed") ++(event.state == TaskState::kCompleted ? completed_ : failed_);
}

std::string LiveView::status_line(const Backlog& backlog) const {
  const std::string text =
      fmt::format("{} running · {} waiting · {} blocked · since the start: {} completed, {} failed, {} cancelled",
                  backlog.running, backlog.waiting, backlog.blocked, completed_, failed_, cancelled_);
  return painted(cut_to_width(text, static_cast<std::size_t>(out_.look().width - 1)), Paint::kBold, out_.look());
}

void LiveView::clear_status() {
  if (!status_.empty()) out_.write("\r\x1b[K");
  status_.clear();
}

void log_event(const Event& event) {
  const bool bad = event.name == "task.failed" || event.name == "task.stalled" ||
                   (event.name == "task.deadline_passed" && event.state == TaskState::kFailed);
  const bool end = is_terminal(event.state);
  if (!bad && !end) return;
  log_write(bad ? LogLevel::kWarn : LogLevel::kInfo, "task", event.name.substr(event.name.find('.') + 1),
            {{"task", event.task.to_string()},
             {"type", event.type},
             {"run", std::to_string(event.run)},
             {"data", event.data}});
}

}  // namespace drover::cli
