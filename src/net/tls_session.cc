#include "net/tls_session.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <limits>
#include <system_error>

#include "base/check.h"
#include "base/try.h"

namespace drover {

namespace {

constexpr std::size_t kRecordBytesMax = 16 * 1024;  // of plaintext
constexpr std::size_t kBufferKeptBytes = 64 * 1024;

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct FreeSession {
  void operator()(SSL* session) const { SSL_free(session); }
};

// OpenSSL's word for the latest error of this thread.
std::string openssl_reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  return reason != nullptr ? reason : fmt::format("error {:x}", code);
}

std::unexpected<Error> cannot_use(std::string_view what, const std::string& path, const std::string& why) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("cannot use the {} {}: {}", what, path, why), "tls.load");
}

constexpr std::string_view kPemBegin = "-----BEGIN ";

// In the first line of what is a "certificate" or a "key": keys have several kinds.
std::string_view pem_word(std::string_view what) {
  return what == "key" ? "PRIVATE KEY" : "CERTIFICATE";
}

// OpenSSL's errors for files that are not there, or are the other one of the two, are hard to read.
Status check_file(std::string_view what, const std::string& path, std::string_view other) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file.good() || file.peek() == std::ifstream::traits_type::eof()) {
    const std::string why = errno != 0 ? std::generic_category().message(errno) : "the file is empty";
    return cannot_use(what, path, why);
  }
  bool has_other = false;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kPemBegin)) continue;
    if (line.contains(pem_word(what))) return {};
    has_other = has_other || line.contains(pem_word(other));
  }
  if (!has_other) return {};  // OpenSSL says what is wrong
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} is a {}, not a {}", path, other, what), "tls.load");
}

// A key behind a password is refused instead of asked for on the terminal.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) {
  return -1;
}

}  // namespace

// ---- the context

struct TlsContext::Impl {
  std::unique_ptr<SSL_CTX, FreeContext> context;
};

TlsContext::TlsContext(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
TlsContext::~TlsContext() = default;
TlsContext::TlsContext(TlsContext&&) noexcept = default;
TlsContext& TlsContext::operator=(TlsContext&&) noexcept = default;

Result<TlsContext> TlsContext::load(const std::string& certificate_path, const std::string& key_path) {
  TRY(check_file("certificate", certificate_path, "key"));
  TRY(check_file("key", key_path, "certificate"));
  ERR_clear_error();
  auto impl = std::make_shared<Impl>();
  impl->context.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* context = impl->context.get();
  CHECK(context != nullptr);
  CHECK(SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1);
  // A client cannot make us do handshake after handshake, and compression tells secrets.
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Idle sessions give their buffers back.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_default_passwd_cb(context, no_password);
  // The key first: a certificate drops a key that is not its own, and the check at the end tells.
  if (SSL_CTX_use_PrivateKey_file(context, key_path.c_str(), SSL_FILETYPE_PEM) != 1)
    return cannot_use("key", key_path, openssl_reason());
  if (SSL_CTX_use_certificate_chain_file(context, certificate_path.c_str()) != 1)
    return cannot_use("certificate", certificate_path, openssl_reason());
  if (SSL_CTX_check_private_key(context) != 1)
    return cannot_use("key", key_path, "it does not belong to the certificate " + certificate_path);
  return TlsContext(std::move(impl));
}

// ---- a session

struct TlsSession::Impl {
  explicit Impl(SSL_CTX* context) : session(SSL_new(context)) {
    BIO* in = BIO_new(BIO_s_mem());
    BIO* out = BIO_new(BIO_s_mem());
    CHECK(session != nullptr && in != nullptr && out != nullptr);
    BIO_set_mem_eof_return(in, -1);  // empty means "wait", not "the end"
    SSL_set_bio(session.get(), in, out);
    SSL_set_accept_state(session.get());
  }

  // A failure ends the session: OpenSSL must not be asked again.
  std::unexpected<Error> broken(std::string_view doing) {
    failed = true;
    return fail(ErrorCode::kInvalidArgument, fmt::format("TLS {}: {}", doing, openssl_reason()), "tls");
  }

  // A buffer that was large once is large for ever.
  void renew_outgoing() {
    BIO* out = BIO_new(BIO_s_mem());
    CHECK(out != nullptr);
    SSL_set0_wbio(session.get(), out);
  }

  // Whether a call that did not succeed only waits for the peer.
  [[nodiscard]] bool waits(int result) const {
    const int error = SSL_get_error(session.get(), result);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
  }

  std::unique_ptr<SSL, FreeSession> session;
  bool failed = false;
  bool closed = false;
  bool ended_by_peer = false;
};

TlsSession::TlsSession(const TlsContext& context) : impl_(std::make_unique<Impl>(context.impl_->context.get())) {}
TlsSession::~TlsSession() = default;
TlsSession::TlsSession(TlsSession&&) noexcept = default;
TlsSession& TlsSession::operator=(TlsSession&&) noexcept = default;

Result<std::string> TlsSession::feed(std::string_view ciphertext) {
  if (impl_->failed) return fail(ErrorCode::kInvalidArgument, "TLS failed before", "tls");
  if (impl_->ended_by_peer || impl_->closed) return std::string();
  SSL* session = impl_->session.get();
  CHECK(ciphertext.size() <= std::numeric_limits<int>::max());
  const int taken = BIO_write(SSL_get_rbio(session), ciphertext.data(), static_cast<int>(ciphertext.size()));
  CHECK(ciphertext.empty() || taken == static_cast<int>(ciphertext.size()));
  ERR_clear_error();
  if (!SSL_is_init_finished(session)) {
    const int shaken = SSL_do_handshake(session);
    if (shaken != 1 && !impl_->waits(shaken)) return impl_->broken("handshake");
    if (shaken != 1) return std::string();
  }
  std::string plaintext;
  std::array<char, kRecordBytesMax> buffer{};
  for (;;) {
    std::size_t got = 0;
    const int read = SSL_read_ex(session, buffer.data(), buffer.size(), &got);
    if (read == 1) {
      plaintext.append(buffer.data(), got);
      continue;
    }
    if (SSL_get_error(session, read) == SSL_ERROR_ZERO_RETURN) {
      impl_->ended_by_peer = true;
      return plaintext;
    }
    if (impl_->waits(read)) return plaintext;
    return impl_->broken("record");
  }
}

Status TlsSession::send(std::string_view plaintext) {
  if (impl_->failed) return fail(ErrorCode::kInvalidArgument, "TLS failed before", "tls");
  CHECK(is_established() && !impl_->closed);
  if (plaintext.empty()) return {};
  ERR_clear_error();
  std::size_t written = 0;
  if (SSL_write_ex(impl_->session.get(), plaintext.data(), plaintext.size(), &written) != 1)
    return impl_->broken("record");
  CHECK(written == plaintext.size());  // the buffer in memory takes everything
  return {};
}

void TlsSession::close() {
  if (impl_->failed || impl_->closed) return;
  impl_->closed = true;
  if (!is_established()) return;
  ERR_clear_error();
  static_cast<void>(SSL_shutdown(impl_->session.get()));  // 0: the peer's goodbye is not here yet, nor waited for
}

bool TlsSession::is_established() const {
  return !impl_->failed && SSL_is_init_finished(impl_->session.get()) == 1;
}

bool TlsSession::is_ended_by_peer() const {
  return impl_->ended_by_peer;
}

std::string TlsSession::take_outgoing() {
  BIO* out = SSL_get_wbio(impl_->session.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  if (size <= 0) return {};
  std::string bytes(data, static_cast<std::size_t>(size));
  if (bytes.size() > kBufferKeptBytes) {
    impl_->renew_outgoing();
  } else {
    static_cast<void>(BIO_reset(out));
  }
  return bytes;
}

std::size_t TlsSession::outgoing_bytes() const {
  return BIO_ctrl_pending(SSL_get_wbio(impl_->session.get()));
}

}  // namespace drover
