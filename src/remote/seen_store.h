// How far this client has seen its server's store to be: docs/internals/store-epochs.md.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "core/mark_book.h"

namespace drover::remote {

// Safe from any thread.
class SeenStore {
 public:
  explicit SeenStore(std::shared_ptr<MarkBook> book) : book_(std::move(book)) {}

  // To be sent with the next request.
  [[nodiscard]] std::optional<StoreMark> mark() const;
  // What the answer to a request says that was sent with that mark.
  void take(const std::optional<StoreMark>& sent, std::string_view answered);

 private:
  // What is known of a store that has not answered yet.
  [[nodiscard]] StoreMark known_of(const StoreMark& answered) const;

  const std::shared_ptr<MarkBook> book_;  // null: nothing is kept
  mutable std::mutex mutex_;
  std::optional<StoreMark> mark_;
};

}  // namespace drover::remote
