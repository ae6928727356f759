// HighWater: how far this process has seen its store to be, and whether the store is still there.
//
// Safe from any thread. Answers of a store may come late: whoever asks first takes seen() and hands it in with the
// answer, so that only what was seen before the question counts against it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/epoch.h"
#include "drover/error.h"
#include "store/mark_file.h"

namespace drover {

class HighWater {
 public:
  // With a path, what is seen is kept in that file, and what an earlier process kept there counts as seen.
  explicit HighWater(const std::string& path = {});
  ~HighWater();
  HighWater(const HighWater&) = delete;
  HighWater& operator=(const HighWater&) = delete;

  [[nodiscard]] Mark seen() const;
  // The store as it answered: judges it, and goes on from there if nothing is gone, or that was accepted.
  void look(const Mark& seen_before, const StoreExtent& extent);
  // The last event of the epoch that was last looked at. False: the store must be looked at.
  [[nodiscard]] bool saw(const Mark& seen_before, std::string_view epoch, std::int64_t seq);

  [[nodiscard]] std::optional<Loss> loss() const;
  // kStoreRegressed while something is gone that nobody has accepted.
  [[nodiscard]] Status check() const;

 private:
  void raise(const Mark& mark);
  void keep_file();
  void write_file(const Mark& mark) const;

  const std::optional<MarkFile> file_;

  mutable std::mutex mutex_;  // guards what follows
  Mark seen_;
  std::string epoch_;  // that was last looked at
  std::optional<Loss> loss_;
  Mark written_;
  bool closing_ = false;
  std::condition_variable changed_;
  std::condition_variable closed_;  // apart, so that no change wakes one that pauses
  std::jthread writer_;             // once there is something to write
};

}  // namespace drover
