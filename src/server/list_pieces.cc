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

Status ListPieces::add_tasks(GuardedQueue& queue, std::string& piece) {
  const int wanted = std::min(left_, at_once_);
  auto page = TRY(queue.list(filter_, wanted, cursor_));
  const std::size_t before = piece.size();
  for (Task& task : page.tasks) {
    if (std::exchange(has_tasks_, true)) piece += ',';
    piece += to_json(task);
    task = {};  // it may be large
  }
  left_ -= static_cast<int>(page.tasks.size());
  searched_ = both(searched_, page.searched);
  is_done_ = left_ <= 0 || !page.cursor || ends_search(filter_, page, wanted, searched_);
  cursor_ = std::move(page.cursor);
  // Large ones are read one by one, small ones together.
  const bool are_small = piece.size() - before < kPieceBytes;
  at_once_ = are_small ? std::min(at_once_ * 2, kTasksAtOnce) : std::max(at_once_ / 2, 1);
  if (is_done_) {
    piece += fmt::format("],\"cursor\":{},\"searched\":{}}}\n", cursor_ ? json::quote(*cursor_) : "null",
                         searched_ ? to_json(*searched_) : "null");
  }
  return {};
}

}  // namespace drover::server
