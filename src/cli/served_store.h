// A store on the network, for as long as this lives: the HTTP server in this process, and what looks after it.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "cli/context.h"
#include "cli/mcp_allowance.h"
#include "cli/served_note.h"
#include "cli/service_manager.h"
#include "cli/verb.h"
#include "cli/watch.h"
#include "engine/open.h"
#include "engine/tokens.h"
#include "server/server.h"
#include "server/token_keeper.h"

namespace drover::cli {

struct ServeOptions {
  std::vector<std::string> listen;
  std::vector<std::string> hosts;
  std::optional<std::string> tls_certificate;  // a file; both or none
  std::optional<std::string> tls_key;
  bool insecure = false;                 // listen for other machines without TLS
  std::optional<std::string> audit_log;  // a file
  std::optional<int> rate;               // requests a second, of one token
  std::optional<server::PublicUrl> public_url;
  std::optional<std::string> name;  // else that of drover.yaml
  McpAllowances mcp_allow;          // what agents may do over MCP
};

// For every verb that has a server in it.
void define_server(Verb& verb, ServeOptions& options);

// A server before there is a store: it has its address, --listen, else DROVER_LISTEN, else 127.0.0.1:7711, but answers
// nobody. All that can go wrong without an effect goes wrong here.
class ServerToBe {
 public:
  // `name`: what drover.yaml calls it.
  [[nodiscard]] static Result<ServerToBe> prepare(const ServeOptions& options, const ServerName& name,
                                                  const Environment& environment);

 private:
  friend class ServedStore;
  server::ServerOptions options_;
  server::Premises premises_;
};

class ServedStore {
 public:
  // Answers when it returns. The store outlives it, and so do its tokens. `url` is the store's.
  ServedStore(OpenedQueue& opened, const std::string& url, TokenBook& tokens, ServerToBe server,
              const Environment& environment);
  ~ServedStore();
  ServedStore(const ServedStore&) = delete;
  ServedStore& operator=(const ServedStore&) = delete;

  [[nodiscard]] const std::vector<std::string>& addresses() const { return server_->addresses(); }
  // Where a browser finds it; none if it listens on Unix sockets only.
  [[nodiscard]] const std::optional<std::string>& browser_url() const { return browser_url_; }
  // Whether a service manager started it, whose log others may read.
  [[nodiscard]] bool is_managed() const { return manager_.is_there(); }

 private:
  // SIGHUP reads the certificate again; the service manager hears that the server lives.
  void look_after(const std::stop_token& stop);

  server::TokenKeeper keeper_;
  const ServiceManager manager_;
  std::optional<Hangups> hangups_;
  std::unique_ptr<server::Server> server_;
  std::optional<std::string> browser_url_;
  std::optional<ServedNote> note_;
  Waker stopping_;
  std::jthread caretaker_;
};

}  // namespace drover::cli
