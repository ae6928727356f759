// TLS of a server without I/O: ciphertext in, plaintext out, and back. OpenSSL does the work between two buffers in
// memory; tls_session.cc alone knows it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "drover/error.h"

namespace drover {

// A certificate with its key, for any number of sessions at a time. TLS 1.2 and 1.3. Safe to share between threads.
class TlsContext {
 public:
  // PEM files; the certificate's may hold its chain. Errors are kInvalidArgument, name the file and say what is wrong
  // with it.
  [[nodiscard]] static Result<TlsContext> load(const std::string& certificate_path, const std::string& key_path);
  ~TlsContext();
  TlsContext(TlsContext&&) noexcept;
  TlsContext& operator=(TlsContext&&) noexcept;

 private:
  friend class TlsSession;
  struct Impl;
  explicit TlsContext(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

// The server's side of one connection. The caller carries bytes: what the peer sent into feed(), take_outgoing() to
// the peer after every call of feed(), send() and close(), also after a failed one: it tells the peer why. One thread
// at a time.
class TlsSession {
 public:
  explicit TlsSession(const TlsContext& context);
  ~TlsSession();
  TlsSession(TlsSession&&) noexcept;
  TlsSession& operator=(TlsSession&&) noexcept;

  // The plaintext that these bytes complete; may be empty. After an error the session is over.
  [[nodiscard]] Result<std::string> feed(std::string_view ciphertext);
  // Once the handshake is done. Not after close().
  [[nodiscard]] Status send(std::string_view plaintext);
  // Says goodbye, so that the peer can tell an end from a cut. What it still sends is dropped.
  void close();

  // Whether send() may be called.
  [[nodiscard]] bool is_established() const;
  // Whether the peer said goodbye: nothing more comes.
  [[nodiscard]] bool is_ended_by_peer() const;

  // Ciphertext for the peer, each byte once.
  [[nodiscard]] std::string take_outgoing();
  [[nodiscard]] std::size_t outgoing_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace drover
