// The answer to a question about one thing, asked by way of a verb for many.
#pragma once

#include <utility>
#include <vector>

#include "drover/error.h"

namespace drover {

// The first item, or the error.
template <class T>
[[nodiscard]] Result<T> only_item(Result<std::vector<T>> items) {
  if (!items) return std::unexpected(std::move(items.error()));
  return std::move(items->front());
}

}  // namespace drover
