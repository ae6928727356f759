#include "store/high_water.h"

#include <fmt/format.h>

#include <tuple>

#include "base/log.h"
#include "base/try_thread.h"
#include "drover/time.h"

namespace drover {
namespace {

constexpr Millis kWriteEvery{1'000};

bool is_further(const Mark& one, const Mark& other) {
  return std::tie(one.number, one.seq) > std::tie(other.number, other.seq);
}

}  // namespace

HighWater::HighWater(const std::string& path)
    : file_(path.empty() ? std::nullopt : std::optional<MarkFile>(path)),
      seen_(file_ ? file_->read().value_or(Mark()) : Mark()),
      written_(seen_) {}

HighWater::~HighWater() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
    closed_.notify_all();
  }
  if (writer_.joinable()) writer_.join();
}

Mark HighWater::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void HighWater::look(const Mark& seen_before, const StoreExtent& extent) {
  const std::lock_guard lock(mutex_);
  epoch_ = extent.epochs.back().id;
  const std::optional<Loss> found = find_loss(extent, seen_before);
  if (!found || is_accepted(extent, seen_before)) {
    if (found) log_warn("store", "acknowledged work was lost, and that was accepted", {{"lost", to_string(*found)}});
    loss_.reset();
    return raise(extent.mark());
  }
  if (found != loss_) {
    log_error("store", "the store went backwards: what was acknowledged is gone, and claims pause",
              {{"lost", to_string(*found)}, {"accept", "drover store accept-regression"}});
  }
  loss_ = found;
}

bool HighWater::saw(const Mark& seen_before, std::string_view epoch, std::int64_t seq) {
  const std::lock_guard lock(mutex_);
  if (epoch != epoch_) return false;
  if (loss_) return true;
  if (seen_before.epoch == epoch && seq < seen_before.seq) return false;
  if (seen_.epoch == epoch) raise({seen_.number, seen_.epoch, seq});
  return true;
}

std::optional<Loss> HighWater::loss() const {
  const std::lock_guard lock(mutex_);
  return loss_;
}

Status HighWater::check() const {
  const auto gone = loss();
  if (!gone) return {};
  return fail(ErrorCode::kStoreRegressed,
              fmt::format("the store went backwards, acknowledged and gone: {}; nothing is claimed until somebody "
                          "accepts that: drover store accept-regression",
                          to_string(*gone)),
              "store.claim");
}

void HighWater::raise(const Mark& mark) {
  if (!is_further(mark, seen_) && mark.epoch == seen_.epoch) return;
  seen_ = mark;
  if (!file_) return;
  if (!writer_.joinable() && !try_thread(writer_, [this] { keep_file(); })) {
    write_file(seen_);
    written_ = seen_;
  }
  changed_.notify_all();
}

// At most once in a while, and at the end.
void HighWater::keep_file() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return closing_ || is_further(seen_, written_); });
    closed_.wait_for(lock, kWriteEvery, [&] { return closing_; });
    if (!is_further(seen_, written_)) return;
    const Mark mark = seen_;
    lock.unlock();
    write_file(mark);
    lock.lock();
    written_ = mark;
  }
}

void HighWater::write_file(const Mark& mark) const {
  if (!file_) return;
  if (const Status written = file_->raise(mark); !written) {
    log_warn("store", "how far the store has been could not be kept", {{"error", to_string(written.error())}});
  }
}

}  // namespace drover
