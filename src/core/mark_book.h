// MarkBook: where it is kept, beyond this process, how far stores have been seen to be.
#pragma once

#include <optional>

#include "core/epoch.h"

namespace drover {

// Safe from any thread.
class MarkBook {
 public:
  virtual ~MarkBook() = default;

  [[nodiscard]] virtual std::optional<Mark> read(const std::string& store) = 0;
  // Soon, and at the latest when the book goes. What others have kept stays if it is further.
  virtual void keep(const StoreMark& mark) = 0;
};

}  // namespace drover
