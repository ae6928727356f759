#include "cli/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>

namespace drover::cli {
namespace {

constexpr Millis kMoment{500};
constexpr Millis kDrawEvery{100};
constexpr std::int64_t kBarColumns = 30;
constexpr std::string_view kClearLine = "\r\x1b[K";

}  // namespace

std::string ProgressBar::line(std::int64_t done) const {
  // More may come up while it goes on.
  const std::int64_t total = std::max({total_, done, std::int64_t{1}});
  const auto filled = static_cast<std::size_t>(done * kBarColumns / total);
  std::string bar(filled, '#');
  bar.resize(static_cast<std::size_t>(kBarColumns), '.');
  return fmt::format("{} [{}] {}/{}", what_, bar, done, total);
}

void ProgressBar::show(std::int64_t done, MonoTime now) {
  if (!out_.look().terminal) return;
  if (!draws_at_) draws_at_ = now + kMoment;
  if (now < *draws_at_) return;
  draws_at_ = now + kDrawEvery;
  out_.write(std::string(kClearLine) + line(done));
  drawn_ = true;
}

void ProgressBar::clear() {
  if (drawn_) out_.write(kClearLine);
  drawn_ = false;
}

}  // namespace drover::cli
