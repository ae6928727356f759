// HighWater: how far this process has seen its store to be, and whether the store is still there.
//
// Safe from any thread. Answers of a store may come late: whoever asks first takes seen() and hands it in with the
// answer, so that only what was seen before the question counts against it.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/epoch.h"
#include "drover/error.h"
#include "store/mark_keeper.h"

namespace drover {

class HighWater {
 public:
  // With a path, what is seen is kept in that file, and what an earlier process kept there counts as seen.
  explicit HighWater(const std::string& path = {});

  [[nodiscard]] Mark seen() const;
  // The same with the store's name, which is empty as long as it has not been looked at.
  [[nodiscard]] StoreMark store_mark() const;
  // Whether what somebody else has seen says nothing new. False: the store must be looked at.
  [[nodiscard]] bool covers(const Mark& told) const;
  // The store as it answered: judges it, and goes on from there if nothing is gone, or that was accepted. `seen_before`
  // may also be what somebody else has seen.
  void look(const Mark& seen_before, const StoreExtent& extent);
  // The last event of the epoch that was last looked at. False: the store must be looked at.
  [[nodiscard]] bool saw(const Mark& seen_before, std::string_view epoch, std::int64_t seq);

  [[nodiscard]] std::optional<Loss> loss() const;
  // kStoreRegressed while something is gone that nobody has accepted.
  [[nodiscard]] Status check() const;

 private:
  void raise(const Mark& mark);

  std::optional<MarkKeeper> keeper_;

  mutable std::mutex mutex_;  // guards what follows
  Mark seen_;
  std::vector<Epoch> epochs_;  // as last looked at
  std::optional<Loss> loss_;
};

}  // namespace drover
