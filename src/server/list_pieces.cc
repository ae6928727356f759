#include "server/list_pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/try.h"
#include "core/task_filter.h"
#include "core/task_json.h"
#include "wire/write.h"

namespace drover::server {
namespace {

// Tasks that are read at once, at most.
constexpr int kTasksAtOnce = 8;
constexpr int kSummariesAtOnce = 100;
// Tasks that a count looks at, at most, where it goes from task to task.
constexpr std::int64_t kCountLooksMax = 50'000;
constexpr std::size_t kPieceBytes = std::size_t{64} << 10U;

}  // namespace

Result<std::string> ListPieces::next(GuardedQueue& queue) {
  std::string piece;
  if (is_done_) return piece;
  if (!has_begun_) piece = R"({"tasks":[)";
  has_begun_ = true;
  while (!is_done_ && piece.size() < kPieceBytes) {
    TRY(add_tasks(queue, piece));
  }
  return piece;
}

Result<ListPieces::Read> ListPieces::read(GuardedQueue& queue, int wanted) const {
  const auto put_together = [](auto page) {
    Read read{
        .tasks = static_cast<int>(page.tasks.size()), .cursor = std::move(page.cursor), .searched = page.searched};
    for (auto& task : page.tasks) {
      if (!read.json.empty()) read.json += ',';
      read.json += to_json(task);
      task = {};  // it may be large
    }
    return read;
  };
  if (view_ == ListView::kSummary) {
    auto page = TRY(queue.summaries(filter_, wanted, cursor_));
    return put_together(std::move(page));
  }
  auto page = TRY(queue.list(filter_, wanted, cursor_));
  return put_together(std::move(page));
}

Status ListPieces::add_tasks(GuardedQueue& queue, std::string& piece) {
  const int wanted = std::min(left_, view_ == ListView::kSummary ? kSummariesAtOnce : at_once_);
  auto next = TRY(read(queue, wanted));
  if (next.tasks > 0 && std::exchange(has_tasks_, true)) piece += ',';
  piece += next.json;
  left_ -= next.tasks;
  searched_ = both(searched_, next.searched);
  is_done_ =
      left_ <= 0 || !next.cursor || ends_search(filter_, next.cursor.has_value(), next.tasks < wanted, searched_);
  cursor_ = std::move(next.cursor);
  // Large ones are read one by one, small ones together.
  const bool are_small = next.json.size() < kPieceBytes;
  at_once_ = are_small ? std::min(at_once_ * 2, kTasksAtOnce) : std::max(at_once_ / 2, 1);
  if (is_done_) piece += ending();
  return {};
}

std::string ListPieces::ending() const {
  std::string text = fmt::format("],\"cursor\":{},\"searched\":{}", cursor_ ? json::quote(*cursor_) : "null",
                                 searched_ ? to_json(*searched_) : "null");
  if (view_ == ListView::kSummary) {
    text += count_ ? fmt::format(R"(,"count":{{"tasks":{},"capped":{}}})", count_->tasks, count_->capped)
                   : R"(,"count":null)";
  }
  return text + "}\n";
}

// By pages of heads: a bounded number of tasks is looked at, whatever the filter.
Result<MatchCount> count_matches(GuardedQueue& queue, const TaskFilter& filter) {
  MatchCount count;
  std::optional<std::string> cursor;
  std::optional<Searched> searched;
  for (;;) {
    const auto page = TRY(queue.list_heads(filter, kPageMax, cursor));
    count.tasks += static_cast<std::int64_t>(page.tasks.size());
    searched = both(searched, page.searched);
    const bool is_full = count.tasks >= kCountMax || (searched && searched->tasks >= kCountLooksMax);
    if (!page.cursor || is_full) {
      count.capped = page.cursor.has_value() || count.tasks > kCountMax;
      count.tasks = std::min(count.tasks, kCountMax);
      return count;
    }
    cursor = page.cursor;
  }
}

}  // namespace drover::server
