// Opens a queue from a store URL.
#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"
#include "engine/sweepers.h"

namespace drover {

// An engine with the store that it stands on.
class OpenedQueue {
 public:
  OpenedQueue(std::unique_ptr<Store> store, Rng& rng) : store_(std::move(store)), engine_(*store_, rng) {}

  [[nodiscard]] Engine& engine() { return engine_; }
  [[nodiscard]] TaskQueue& queue() { return engine_; }
  [[nodiscard]] Store& store() { return *store_; }

 private:
  std::unique_ptr<Store> store_;
  Engine engine_;
};

// `sqlite:PATH` or `memory:`. Other kinds are kInvalidArgument and name what there is.
[[nodiscard]] Result<std::unique_ptr<OpenedQueue>> open_queue(const std::string& url);

}  // namespace drover
