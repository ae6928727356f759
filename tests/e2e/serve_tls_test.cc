// drover serve with a certificate: who may listen without one, whom clients trust, and a certificate that is renewed.
#include <fmt/format.h>

#include <csignal>
#include <filesystem>

#include "e2e/serving.h"
#include "support/test_certificate.h"

namespace drover::e2e {
namespace {

class ServeTlsTest : public ServingTest {
 protected:
  ServeTlsTest() { make_certificate("localhost"); }

  // Self-signed: whoever trusts it trusts this server and no other.
  void make_certificate(const std::string& host) const { test::write_test_certificate(host, certificate_, key_); }
  std::unique_ptr<Process> start_tls_server() { return start_server({"--tls-cert", certificate_, "--tls-key", key_}); }
  [[nodiscard]] std::string https(const std::string& host, const std::string& ca) const {
    return fmt::format("https://{}:{}?ca={}", host, port(), ca);
  }
  // What the server says of its certificate once it was told to read it again.
  [[nodiscard]] static std::string log_after_hangup(Process& server) {
    const std::size_t before = server.errors().size();
    server.signal(SIGHUP);
    const Millis end = mono_now() + kHangs;
    while (mono_now() < end && !server.wait(Millis{5})) {
      const std::string said = server.errors().substr(before);
      if (said.find("certificate") != std::string::npos && said.ends_with('\n')) return said;
    }
    return {};
  }

  const std::string certificate_ = sandbox.file("server.crt");
  const std::string key_ = sandbox.file("server.key");
};

TEST_F(ServeTlsTest, CommandsAndWorkersWorkOverIt) {
  const auto server = start_tls_server();
  EXPECT_TRUE(contains(server->errors(), "https://127.0.0.1:"));
  use_server(https("localhost", certificate_), create_token({"admin"}));
  const std::string large(100'000, 'x');
  const std::string id = sandbox.enqueue({"greet", "--payload", fmt::format(R"({{"text":"{}"}})", large)});
  work_until_empty("greet", agentsim({"print=hello"}));
  EXPECT_EQ(sandbox.state_of(id), "completed");
  EXPECT_GT(at(sandbox.show(id), "payload").size(), large.size());
  server->signal(SIGTERM);
  EXPECT_EQ(server->wait(kHangs), (Exit{.code = 0}));
}

TEST_F(ServeTlsTest, AnUnknownAuthorityAndAnotherNameAreRefused) {
  const auto server = start_tls_server();
  const std::string token = create_token({"admin"});
  const std::string other = sandbox.file("other.crt");
  test::write_test_certificate("localhost", other, sandbox.file("other.key"));
  use_server(https("localhost", other), token);
  const Outcome stranger = sandbox.drover({"list"});
  expect_refused(stranger, 7, "store_unavailable");
  EXPECT_TRUE(contains(stranger.err, "the certificate of the server is refused"));
  EXPECT_TRUE(contains(stranger.err, "?ca=FILE"));

  use_server(https("127.0.0.1", certificate_), token);
  const Outcome renamed = sandbox.drover({"list"});
  expect_refused(renamed, 7, "store_unavailable");
  EXPECT_TRUE(contains(renamed.err, "it is for another name than 127.0.0.1"));
}

TEST_F(ServeTlsTest, WhoForgetsTheSOfHttpsIsTold) {
  const auto server = start_tls_server();
  use_server(url(), create_token({"admin"}));
  const Outcome outcome = sandbox.drover({"list"});
  expect_refused(outcome, 1, "invalid_argument");
  EXPECT_TRUE(contains(outcome.err, "this port speaks TLS: use https://"));
}

TEST_F(ServeTlsTest, ACertificateIsRenewedAndABrokenOneKeepsTheOld) {
  const auto server = start_tls_server();
  const std::string token = create_token({"admin"});
  const std::string first = sandbox.file("first.crt");
  std::filesystem::copy_file(certificate_, first);
  sandbox.write_file("server.crt", "no certificate");
  EXPECT_TRUE(contains(log_after_hangup(*server), "keeps the old certificate"));
  use_server(https("localhost", first), token);
  EXPECT_EQ(sandbox.drover({"list"}).exit_code, 0);

  make_certificate("localhost");
  EXPECT_TRUE(contains(log_after_hangup(*server), "read the certificate again"));
  expect_refused(sandbox.drover({"list"}), 7, "store_unavailable");
  use_server(https("localhost", certificate_), token);
  EXPECT_EQ(sandbox.drover({"list"}).exit_code, 0);
}

TEST_F(ServeTlsTest, OtherMachinesAreServedOnlyWithTlsOrWhenToldSo) {
  for (const char* address : {"0.0.0.0:0", "[::]:0"}) {
    const Outcome outcome = sandbox.drover({"serve", "--listen", address});
    expect_refused(outcome, 1, "invalid_argument");
    EXPECT_TRUE(contains(outcome.err, "--tls-cert"));
    EXPECT_TRUE(contains(outcome.err, "--insecure"));
  }
  const auto insecure = start_server({"--listen", "0.0.0.0:0", "--insecure"});
  EXPECT_TRUE(contains(insecure->errors(), "http://0.0.0.0:"));
}

TEST_F(ServeTlsTest, WithACertificateOtherMachinesAreServed) {
  const auto server = start_server({"--listen", "0.0.0.0:0", "--tls-cert", certificate_, "--tls-key", key_});
  EXPECT_TRUE(contains(server->errors(), "https://0.0.0.0:"));
}

TEST_F(ServeTlsTest, FilesThatAreNoCertificateAreRefusedAtOnce) {
  expect_refused(sandbox.drover({"serve", "--listen", "127.0.0.1:0", "--tls-cert", certificate_, "--tls-key",
                                 sandbox.file("nowhere")}),
                 1, "invalid_argument");
  EXPECT_EQ(sandbox.drover({"serve", "--tls-cert", certificate_}).exit_code, 2);
}

}  // namespace
}  // namespace drover::e2e
