#include "remote/seen_store.h"

#include <algorithm>

#include "base/log.h"

namespace drover::remote {

std::optional<StoreMark> SeenStore::mark() const {
  const std::lock_guard lock(mutex_);
  return mark_;
}

// A later epoch counts only in an answer of a server that has heard of what was seen before it: another one may have
// begun that epoch because it knows of no loss.
void SeenStore::take(const std::optional<StoreMark>& sent, std::string_view answered) {
  const auto told = parse_store_mark(answered);
  if (!told) return;
  const std::lock_guard lock(mutex_);
  if (!mark_ || mark_->store != told->store) {
    if (mark_) {
      log_warn("remote", "the server has another store than before: if that is not meant so, all of the other is gone",
               {{"before", to_string(*mark_)}, {"now", to_string(*told)}});
    }
    mark_ = known_of(*told);
  } else if (mark_->mark.epoch == told->mark.epoch) {
    mark_->mark.seq = std::max(mark_->mark.seq, told->mark.seq);
  } else if (sent == mark_) {
    mark_ = told;
  }
  if (book_) book_->keep(*mark_);
}

StoreMark SeenStore::known_of(const StoreMark& answered) const {
  const auto kept = book_ ? book_->read(answered.store) : std::nullopt;
  return kept ? StoreMark{answered.store, *kept} : answered;
}

}  // namespace drover::remote
