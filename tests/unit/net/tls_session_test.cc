#include "net/tls_session.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <array>
#include <fstream>

#include "support/must.h"
#include "support/temp_dir.h"
#include "support/test_certificate.h"

namespace drover::test {
namespace {

// A client between two buffers in memory, as any program may write one.
class Client {
 public:
  explicit Client(int version_max = TLS1_3_VERSION)
      : context_(SSL_CTX_new(TLS_client_method())), session_(SSL_new(context_)) {
    // The library's own floor would keep it from speaking what a server has to refuse.
    SSL_set_security_level(session_, 0);
    SSL_set_min_proto_version(session_, TLS1_VERSION);
    SSL_set_max_proto_version(session_, version_max);
    SSL_set_bio(session_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    BIO_set_mem_eof_return(SSL_get_rbio(session_), -1);
    SSL_set_connect_state(session_);
  }
  ~Client() {
    SSL_free(session_);
    SSL_CTX_free(context_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void shake() { SSL_do_handshake(session_); }
  [[nodiscard]] bool is_established() const { return SSL_is_init_finished(session_) == 1; }
  [[nodiscard]] std::string version() const { return SSL_get_version(session_); }
  void send(std::string_view text) {
    ASSERT_EQ(SSL_write(session_, text.data(), static_cast<int>(text.size())), static_cast<int>(text.size()));
  }
  void say_goodbye() { SSL_shutdown(session_); }
  [[nodiscard]] bool heard_goodbye() const { return (SSL_get_shutdown(session_) & SSL_RECEIVED_SHUTDOWN) != 0; }
  std::string take_outgoing() {
    std::string bytes(BIO_ctrl_pending(SSL_get_wbio(session_)), '\0');
    if (!bytes.empty()) BIO_read(SSL_get_wbio(session_), bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }
  std::string feed(std::string_view bytes) {
    if (!bytes.empty()) BIO_write(SSL_get_rbio(session_), bytes.data(), static_cast<int>(bytes.size()));
    std::string plaintext;
    std::array<char, 4'096> buffer{};
    for (;;) {
      const int got = SSL_read(session_, buffer.data(), buffer.size());
      if (got <= 0) return plaintext;
      plaintext.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  SSL_CTX* context_;
  SSL* session_;
};

class TlsSessionTest : public testing::Test {
 protected:
  void SetUp() override { write_test_certificate("127.0.0.1", certificate_, key_); }

  // Until neither has anything to say.
  static void shake(Client& client, TlsSession& server) {
    client.shake();
    for (std::string bytes = client.take_outgoing(); !bytes.empty(); bytes = client.take_outgoing()) {
      EXPECT_EQ(must(server.feed(bytes)), "");
      EXPECT_EQ(client.feed(server.take_outgoing()), "");
    }
    EXPECT_TRUE(client.is_established());
    EXPECT_TRUE(server.is_established());
  }
  std::string refusal(const std::string& certificate, const std::string& key) {
    const auto loaded = TlsContext::load(certificate, key);
    if (loaded) return "it was loaded";
    EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidArgument);
    return loaded.error().message;
  }
  std::string file_with(const std::string& name, std::string_view text) {
    std::ofstream(folder_.file(name)) << text;
    return folder_.file(name);
  }

  TempDir folder_;
  std::string certificate_ = folder_.file("server.crt");
  std::string key_ = folder_.file("server.key");
};

TEST_F(TlsSessionTest, CarriesWhatBothSay) {
  const TlsContext context = must(TlsContext::load(certificate_, key_));
  TlsSession server(context);
  Client client;
  EXPECT_FALSE(server.is_established());
  shake(client, server);
  EXPECT_EQ(client.version(), "TLSv1.3");

  client.send("GET / HTTP/1.1\r\n\r\n");
  const std::string request = client.take_outgoing();
  EXPECT_EQ(request.find("GET"), std::string::npos) << "it is not encrypted";
  EXPECT_EQ(must(server.feed(request)), "GET / HTTP/1.1\r\n\r\n");
  must(server.send("HTTP/1.1 204 No Content\r\n\r\n"));
  EXPECT_GT(server.outgoing_bytes(), 0U);
  EXPECT_EQ(client.feed(server.take_outgoing()), "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(server.outgoing_bytes(), 0U);
  EXPECT_EQ(server.take_outgoing(), "") << "each byte once";
}

TEST_F(TlsSessionTest, DoesNotCareHowTheBytesAreCut) {
  const TlsContext context = must(TlsContext::load(certificate_, key_));
  TlsSession server(context);
  Client client;
  client.shake();
  while (!client.is_established() || !server.is_established()) {
    const std::string bytes = client.take_outgoing();
    ASSERT_FALSE(bytes.empty());
    for (const char byte : bytes) EXPECT_EQ(must(server.feed({&byte, 1})), "");
    client.feed(server.take_outgoing());
  }
  client.send("Hello");
  std::string heard;
  for (const char byte : client.take_outgoing()) heard += must(server.feed({&byte, 1}));
  EXPECT_EQ(heard, "Hello");
  client.send("one");
  client.send("two");
  EXPECT_EQ(must(server.feed(client.take_outgoing())), "onetwo") << "several records at once";
}

TEST_F(TlsSessionTest, CarriesMuch) {
  const TlsContext context = must(TlsContext::load(certificate_, key_));
  TlsSession server(context);
  Client client;
  shake(client, server);
  const std::string much(3'000'000, 'x');
  client.send(much);
  EXPECT_EQ(must(server.feed(client.take_outgoing())), much);
  for (int i = 0; i < 2; ++i) {
    must(server.send(much));
    EXPECT_EQ(client.feed(server.take_outgoing()), much);
    must(server.send("little"));
    EXPECT_EQ(client.feed(server.take_outgoing()), "little");
  }
}

TEST_F(TlsSessionTest, SpeaksOneTwoAndNothingOlder) {
  const TlsContext context = must(TlsContext::load(certificate_, key_));
  TlsSession modern(context);
  Client one_two(TLS1_2_VERSION);
  shake(one_two, modern);
  EXPECT_EQ(one_two.version(), "TLSv1.2");
  for (const int version : {TLS1_1_VERSION, TLS1_VERSION}) {
    TlsSession server(context);
    Client old(version);
    old.shake();
    const std::string hello = old.take_outgoing();
    ASSERT_FALSE(hello.empty());
    EXPECT_FALSE(server.feed(hello).has_value());
    EXPECT_FALSE(server.is_established());
    EXPECT_NE(server.take_outgoing(), "") << "the peer is told why";
  }
}

TEST_F(TlsSessionTest, AFailureEndsASession) {
  const TlsContext context = must(TlsContext::load(certificate_, key_));
  TlsSession server(context);
  const auto failed = server.feed("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().message, "TLS handshake: http request");
  EXPECT_FALSE(server.feed("").has_value());
  EXPECT_FALSE(server.send("x").has_value());
  server.close();

  TlsSession other(context);
  Client client;
  shake(client, other);
  client.send("Hello");
  std::string forged = client.take_outgoing();
  forged.back() = static_cast<char>(forged.back() ^ 1);
  EXPECT_FALSE(other.feed(forged).has_value());
  EXPECT_FALSE(other.is_established());
}

TEST_F(TlsSessionTest, EitherSideMaySayGoodbye) {
  const TlsContext context = must(TlsContext::load(certificate_, key_));
  TlsSession server(context);
  Client client;
  shake(client, server);
  client.send("last words");
  client.say_goodbye();
  EXPECT_EQ(must(server.feed(client.take_outgoing())), "last words");
  EXPECT_TRUE(server.is_ended_by_peer());
  must(server.send("an answer"));  // one side's end is not the other's
  server.close();
  EXPECT_EQ(client.feed(server.take_outgoing()), "an answer");
  EXPECT_TRUE(client.heard_goodbye());
  server.close();
  EXPECT_EQ(server.take_outgoing(), "") << "once";
}

TEST_F(TlsSessionTest, SessionsOfOneContextAreApart) {
  TlsContext context = must(TlsContext::load(certificate_, key_));
  TlsSession a(context);
  TlsSession b(context);
  context = must(TlsContext::load(certificate_, key_));  // sessions outlive the context that they began with
  Client first;
  Client second;
  shake(first, a);
  shake(second, b);
  first.send("a");
  EXPECT_FALSE(b.feed(first.take_outgoing()).has_value());
}

TEST_F(TlsSessionTest, SaysWhichFileIsWrongAndHow) {
  EXPECT_EQ(refusal(folder_.file("none.crt"), key_),
            "cannot use the certificate " + folder_.file("none.crt") + ": No such file or directory");
  EXPECT_EQ(refusal(certificate_, folder_.file("none.key")),
            "cannot use the key " + folder_.file("none.key") + ": No such file or directory");
  const std::string empty = file_with("empty", "");
  EXPECT_EQ(refusal(empty, key_), "cannot use the certificate " + empty + ": the file is empty");
  EXPECT_EQ(refusal(certificate_, certificate_), certificate_ + " is a certificate, not a key");
  EXPECT_EQ(refusal(key_, key_), key_ + " is a key, not a certificate");
  const std::string junk = file_with("junk", "this is no certificate\n");
  EXPECT_EQ(refusal(junk, key_), "cannot use the certificate " + junk + ": no start line");
  EXPECT_TRUE(refusal(certificate_, junk).starts_with("cannot use the key " + junk)) << refusal(certificate_, junk);
  EXPECT_TRUE(refusal(folder_.path().string(), key_).starts_with("cannot use the certificate"));
  write_test_certificate("127.0.0.1", folder_.file("other.crt"), folder_.file("other.key"));
  EXPECT_EQ(
      refusal(certificate_, folder_.file("other.key")),
      "cannot use the key " + folder_.file("other.key") + ": it does not belong to the certificate " + certificate_);
}

}  // namespace
}  // namespace drover::test
