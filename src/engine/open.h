// Opens a queue from a store URL.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/check.h"
#include "engine/engine.h"
#include "engine/local_administration.h"
#include "engine/sweeper_thread.h"
#include "engine/sweepers.h"

namespace drover {

// An engine with the store that it stands on, or a client of a server that has them.
class OpenedQueue {
 public:
  OpenedQueue(std::unique_ptr<Store> store, Rng& rng)
      : store_(std::move(store)),
        engine_(std::make_unique<Engine>(*store_, rng)),
        administration_(std::make_unique<LocalAdministration>(*store_, *engine_, rng)) {}
  OpenedQueue(std::unique_ptr<TaskQueue> remote, std::unique_ptr<Administration> administration)
      : remote_(std::move(remote)), administration_(std::move(administration)) {}

  [[nodiscard]] TaskQueue& queue() { return remote_ != nullptr ? *remote_ : *engine_; }
  [[nodiscard]] Administration& administration() { return *administration_; }
  [[nodiscard]] bool is_remote() const { return remote_ != nullptr; }
  // Only where the store itself is here.
  [[nodiscard]] Engine& engine() {
    CHECK(!is_remote());
    return *engine_;
  }
  [[nodiscard]] Store& store() {
    CHECK(!is_remote());
    return *store_;
  }

 private:
  std::unique_ptr<Store> store_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<TaskQueue> remote_;
  std::unique_ptr<Administration> administration_;
};

// The sweepers of a store that is here; a server runs its own.
class UpkeepThread {
 public:
  explicit UpkeepThread(OpenedQueue& opened) {
    if (!opened.is_remote()) sweepers_.emplace(opened.engine());
  }

 private:
  std::optional<SweeperThread> sweepers_;
};

// Whether the URL names a server in front of a store.
[[nodiscard]] bool is_server(std::string_view url);

// `sqlite:PATH`, `memory:`, `redis://…` or, with a token, `http(s)://…`. Other kinds are kInvalidArgument and name what
// there is.
[[nodiscard]] Result<std::unique_ptr<OpenedQueue>> open_queue(const std::string& url, const std::string& token = {});

}  // namespace drover
