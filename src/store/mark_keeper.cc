#include "store/mark_keeper.h"

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

MarkKeeper::~MarkKeeper() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
    closed_.notify_all();
  }
  if (writer_.joinable()) writer_.join();
}

void MarkKeeper::keep(const Mark& mark) {
  const std::lock_guard lock(mutex_);
  if (!is_further(mark, last_)) return;
  last_ = mark;
  if (!writer_.joinable() && !try_thread(writer_, [this] { run(); })) {
    write(last_);
    written_ = last_;
  }
  changed_.notify_all();
}

void MarkKeeper::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return closing_ || is_further(last_, written_); });
    closed_.wait_for(lock, kWriteEvery, [&] { return closing_; });
    if (!is_further(last_, written_)) return;
    const Mark mark = last_;
    lock.unlock();
    write(mark);
    lock.lock();
    written_ = mark;
  }
}

void MarkKeeper::write(const Mark& mark) const {
  if (const Status written = file_.raise(mark); !written) {
    log_warn("store", "how far the store has been could not be kept", {{"error", to_string(written.error())}});
  }
}

MarkKeeper& FileMarkBook::keeper_of(const std::string& store) {
  const std::lock_guard lock(mutex_);
  return keepers_.try_emplace(store, folder_ + "/" + store).first->second;
}

std::optional<Mark> FileMarkBook::read(const std::string& store) {
  const Mark& kept = keeper_of(store).kept();
  return kept.number > 0 ? std::optional(kept) : std::nullopt;
}

void FileMarkBook::keep(const StoreMark& mark) {
  keeper_of(mark.store).keep(mark.mark);
}

}  // namespace drover
