// A store on the network, for as long as this lives: the HTTP server in this process, and what looks after it.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "cli/context.h"
#include "cli/service_manager.h"
#include "cli/watch.h"
#include "engine/open.h"
#include "engine/tokens.h"
#include "server/server.h"
#include "server/token_keeper.h"

namespace drover::cli {

class ServedStore {
 public:
  // Listens when it returns: on --listen, else DROVER_LISTEN, else 127.0.0.1:7711. The store outlives it.
  [[nodiscard]] static Result<std::unique_ptr<ServedStore>> start(OpenedQueue& opened, const ServeOptions& options,
                                                                  const Environment& environment);
  ~ServedStore();
  ServedStore(const ServedStore&) = delete;
  ServedStore& operator=(const ServedStore&) = delete;

  [[nodiscard]] const std::vector<std::string>& addresses() const { return server_->addresses(); }
  [[nodiscard]] TokenBook& tokens() { return tokens_; }

 private:
  ServedStore(Store& store, const Environment& environment);
  // SIGHUP reads the certificate again; the service manager hears that the server lives.
  void look_after(const std::stop_token& stop);

  TokenBook tokens_;
  server::TokenKeeper keeper_;
  const ServiceManager manager_;
  std::optional<Hangups> hangups_;
  std::unique_ptr<server::Server> server_;
  Waker stopping_;
  std::jthread caretaker_;
};

}  // namespace drover::cli
