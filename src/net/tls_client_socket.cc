// TLS between two buffers in memory: OpenSSL never sees the descriptor, so that waits, interrupts and SIGPIPE are the
// business of the socket beneath.
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <string>

#include "base/check.h"
#include "base/try.h"
#include "net/socket.h"

namespace drover {
namespace {

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct FreeSession {
  void operator()(SSL* session) const { SSL_free(session); }
};
using Context = std::unique_ptr<SSL_CTX, FreeContext>;
using Session = std::unique_ptr<SSL, FreeSession>;

std::string last_openssl_error() {
  const unsigned long code = ERR_get_error();
  if (code == 0) return "unknown error";
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : fmt::format("error {:x}", code);
}

class TlsSocket final : public Socket {
 public:
  TlsSocket(std::unique_ptr<Socket> transport, Session session, const Endpoint& endpoint)
      : transport_(std::move(transport)), session_(std::move(session)), peer_(endpoint.peer), host_(endpoint.host) {
    BIO* in = BIO_new(BIO_s_mem());
    BIO* out = BIO_new(BIO_s_mem());
    CHECK(in != nullptr && out != nullptr);
    BIO_set_mem_eof_return(in, -1);  // empty means "wait", not "the end"
    SSL_set_bio(session_.get(), in, out);
  }

  [[nodiscard]] Status handshake(const Patience& patience) {
    return until_done(patience, [this] { return SSL_connect(session_.get()); });
  }

  Status write_all(std::string_view bytes, const Patience& patience) override {
    if (bytes.empty()) return {};
    std::size_t written = 0;
    const Status done =
        until_done(patience, [&] { return SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &written); });
    if (!done) return done;
    CHECK(written == bytes.size());  // the buffer in memory takes everything
    return {};
  }

  Result<std::size_t> read_some(std::span<char> into, const Patience& patience) override {
    std::size_t got = 0;
    TRY(until_done(patience, [&] { return SSL_read_ex(session_.get(), into.data(), into.size(), &got); }));
    return got;
  }

  bool has_input() const override { return SSL_pending(session_.get()) > 0 || transport_->has_input(); }

 private:
  // Repeats one call of OpenSSL, carrying bytes to and from the transport, until it succeeds.
  template <class Step>
  Status until_done(const Patience& patience, Step step) {
    for (;;) {
      ERR_clear_error();
      const int result = step();
      const int error = SSL_get_error(session_.get(), result);
      Status carried = error == SSL_ERROR_NONE || error == SSL_ERROR_WANT_READ ? Status() : failure(error);
      // Also after a failure: the peer is told why.
      if (const Status sent = send_out(patience); carried && !sent) carried = sent;
      if (!carried || error == SSL_ERROR_NONE) return carried;
      TRY(take_in(patience));
    }
  }

  Status send_out(const Patience& patience) {
    char* data = nullptr;
    BIO* out = SSL_get_wbio(session_.get());
    const long size = BIO_get_mem_data(out, &data);
    if (size <= 0) return {};
    Status sent = transport_->write_all({data, static_cast<std::size_t>(size)}, patience);
    static_cast<void>(BIO_reset(out));
    return sent;
  }

  Status take_in(const Patience& patience) {
    const auto got = TRY(transport_->read_some(buffer_, patience));
    const int taken = BIO_write(SSL_get_rbio(session_.get()), buffer_.data(), static_cast<int>(got));
    CHECK(taken == static_cast<int>(got));
    return {};
  }

  [[nodiscard]] Status failure(int error) const {
    if (error == SSL_ERROR_ZERO_RETURN) {
      return fail(ErrorCode::kStoreUnavailable, fmt::format("{} closed the connection", peer_), "socket.tls");
    }
    const long verdict = SSL_get_verify_result(session_.get());
    if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH) {
      return fail(ErrorCode::kStoreUnavailable,
                  fmt::format("the certificate of {} is refused: it is for another name than {}", peer_, host_),
                  "socket.tls");
    }
    if (verdict != X509_V_OK) {
      return fail(ErrorCode::kStoreUnavailable,
                  fmt::format("the certificate of {} is refused: {}; a private authority is named with ?ca=FILE", peer_,
                              X509_verify_cert_error_string(verdict)),
                  "socket.tls");
    }
    return fail(ErrorCode::kStoreUnavailable, fmt::format("TLS with {} failed: {}", peer_, last_openssl_error()),
                "socket.tls");
  }

  std::unique_ptr<Socket> transport_;
  Session session_;
  std::string peer_;
  std::string host_;
  std::array<char, 16 * 1024> buffer_;
};

Result<Context> make_context(const std::string& ca_file) {
  ERR_clear_error();
  Context context(SSL_CTX_new(TLS_client_method()));
  CHECK(context != nullptr);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  const bool loaded = ca_file.empty() ? SSL_CTX_set_default_verify_paths(context.get()) == 1
                                      : SSL_CTX_load_verify_file(context.get(), ca_file.c_str()) == 1;
  if (loaded) return context;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("cannot read certificates of authorities from {}: {}",
                          ca_file.empty() ? "the system's store" : ca_file, last_openssl_error()),
              "socket.tls");
}

// The name that the peer's certificate has to bear, and that the peer is told.
void expect_host(SSL* session, const std::string& host) {
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host.c_str()) == 1) return;
  CHECK(SSL_set1_host(session, host.c_str()) == 1);
  CHECK(SSL_set_tlsext_host_name(session, host.c_str()) == 1);
}

}  // namespace

Result<std::unique_ptr<Socket>> connect_tls(std::unique_ptr<Socket> transport, const Endpoint& endpoint,
                                            const Patience& patience) {
  const auto context = TRY(make_context(endpoint.ca_file));
  Session session(SSL_new(context.get()));
  CHECK(session != nullptr);
  expect_host(session.get(), endpoint.host);
  auto socket = std::make_unique<TlsSocket>(std::move(transport), std::move(session), endpoint);
  TRY(socket->handshake(patience));
  return socket;
}

}  // namespace drover
