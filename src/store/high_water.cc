#include "store/high_water.h"

#include <fmt/format.h>

#include <tuple>

#include "base/log.h"

namespace drover {

HighWater::HighWater(const std::string& path) {
  if (!path.empty()) keeper_.emplace(path);
  if (keeper_) seen_ = keeper_->kept();
}

Mark HighWater::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void HighWater::look(const Mark& seen_before, const StoreExtent& extent) {
  const std::lock_guard lock(mutex_);
  epochs_ = extent.epochs;
  const std::optional<Loss> found = find_loss(extent, seen_before);
  if (!found || is_accepted(extent, seen_before)) {
    if (loss_ && seen_before != seen_) return;  // asked before that was known
    if (found) log_warn("store", "acknowledged work was lost, and that was accepted", {{"lost", to_string(*found)}});
    loss_.reset();
    return raise(extent.mark());
  }
  if (found != loss_) {
    log_error("store", "the store went backwards: acknowledged work is missing, so workers claim nothing",
              {{"lost", to_string(*found)}, {"accept", "drover store accept-regression"}});
  }
  loss_ = found;
  if (!find_loss(extent, seen_)) seen_ = seen_before;  // of somebody else, whose word counts from now on
}

bool HighWater::saw(const Mark& seen_before, std::string_view epoch, std::int64_t seq) {
  const std::lock_guard lock(mutex_);
  if (epochs_.empty() || epoch != epochs_.back().id) return false;
  if (loss_) return true;
  if (seen_before.epoch == epoch && seq < seen_before.seq) return false;
  if (seen_.epoch == epoch) raise({seen_.number, seen_.epoch, seq});
  return true;
}

StoreMark HighWater::store_mark() const {
  const std::lock_guard lock(mutex_);
  return {epochs_.empty() ? std::string() : epochs_.front().id, seen_};
}

bool HighWater::covers(const Mark& told) const {
  const std::lock_guard lock(mutex_);
  return loss_ || (!epochs_.empty() && !find_loss({epochs_, seen_.seq}, told));
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
  const bool is_further = std::tie(mark.number, mark.seq) > std::tie(seen_.number, seen_.seq);
  if (!is_further && mark.epoch == seen_.epoch) return;
  seen_ = mark;
  if (keeper_) keeper_->keep(mark);
}

}  // namespace drover
