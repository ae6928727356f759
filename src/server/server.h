// Drover over HTTP: the verbs of a TaskQueue for callers who show a token.
//
// One thread does all input and output; calls of the queue run on a pool, and calls that wait have no thread at all.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/administration.h"
#include "drover/task_queue.h"
#include "mcp/queue_tools.h"
#include "net/tls_session.h"
#include "server/audit_log.h"
#include "server/dashboard.h"
#include "server/doorkeeper.h"
#include "server/frontage.h"
#include "server/limits.h"
#include "server/listen.h"

namespace drover::server {

// PEM files; the certificate's may hold its chain.
struct TlsFiles {
  std::string certificate;
  std::string key;
};

struct ServerOptions {
  std::vector<std::string> listen{"127.0.0.1:7711"};  // HOST:PORT, with port 0 for a free one, or unix:PATH
  std::vector<std::string> hosts{};                   // more names by which clients call this server
  std::optional<TlsFiles> tls{};                      // for HOST:PORT; Unix sockets stay as they are
  bool insecure = false;                              // listen for other machines without TLS
  std::optional<std::string> audit_log{};             // a file
  RequestLimits limits{};
  std::size_t connections_max = 4'000;
  // Connections of one address that have not shown a valid token; the one that came first makes room for another.
  std::size_t strangers_per_peer_max = 256;
  std::size_t held_bytes_max = std::size_t{128} << 20U;  // of what clients make the server hold, in all
  std::size_t threads_max = 64;
  std::string version{};                  // that callers are told
  ServerName name{};                      // the same
  std::optional<PublicUrl> public_url{};  // how browsers reach it, if a proxy stands before it
  std::span<const DashboardFile> dashboard = embedded_dashboard();  // none: it says that it has no dashboard
  mcp::Allowed mcp_allowed{};   // what agents may do over MCP beside enqueueing and looking
  Millis tokens_again{30'000};  // how often the token of somebody who watches is looked at
};

// What a server needs of its machine: its addresses, its certificate, its audit log. It can be had before the store is
// opened, so that a server that cannot start has changed nothing there.
struct Premises {
  std::vector<Listening> listening;
  std::optional<TlsContext> certificate;
  std::unique_ptr<AuditLog> audit;  // null: none is kept
};
[[nodiscard]] Result<Premises> take_premises(const ServerOptions& options);

class Server {
 public:
  // Answers when it returns. The queue, what administers its store and the doorkeeper outlive it.
  [[nodiscard]] static std::unique_ptr<Server> start(TaskQueue& queue, Administration& administration,
                                                     Doorkeeper& doorkeeper, const ServerOptions& options,
                                                     Premises premises);
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(TaskQueue& queue, Administration& administration,
                                                             Doorkeeper& doorkeeper, const ServerOptions& options);
  // Takes no more requests, answers those that are there, and ends.
  virtual ~Server() = default;

  // As clients name them: "http://127.0.0.1:7711", "unix:/run/drover.sock".
  [[nodiscard]] virtual const std::vector<std::string>& addresses() const = 0;
  // Whether its thread does its rounds.
  [[nodiscard]] virtual bool is_alive() const = 0;
  // Reads the files of the certificate again, for clients that come from now on. With an error it keeps the old one.
  [[nodiscard]] virtual Status renew_certificate() = 0;
};

}  // namespace drover::server
