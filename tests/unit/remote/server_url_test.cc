#include "remote/server_url.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(ServerUrl, TellsWhereAServerIs) {
  const auto plain = parse_server_url("http://queue.example");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->endpoint.transport, Endpoint::Transport::kTcp);
  EXPECT_EQ(plain->endpoint.host, "queue.example");
  EXPECT_EQ(plain->endpoint.port, 7711);
  EXPECT_EQ(plain->host, "queue.example");

  const auto v6 = parse_server_url("http://[::1]:99/");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->endpoint.host, "::1");
  EXPECT_EQ(v6->endpoint.port, 99);
  EXPECT_EQ(v6->host, "[::1]:99");

  const auto tls = parse_server_url("https://queue.example:8443?ca=/etc/my%20ca.pem");
  ASSERT_TRUE(tls);
  EXPECT_EQ(tls->endpoint.transport, Endpoint::Transport::kTls);
  EXPECT_EQ(tls->endpoint.ca_file, "/etc/my ca.pem");
  EXPECT_EQ(tls->host, "queue.example:8443");

  const auto local = parse_server_url("unix:/run/drover.sock");
  ASSERT_TRUE(local);
  EXPECT_EQ(local->endpoint.path, "/run/drover.sock");
}

TEST(ServerUrl, SeveralServersStandBehindEachOther) {
  const auto both = parse_server_urls("http://a:1,https://b:2?ca=/x");
  ASSERT_TRUE(both);
  ASSERT_EQ(both->size(), 2U);
  EXPECT_EQ((*both)[0].host, "a:1");
  EXPECT_EQ((*both)[1].host, "b:2");
  EXPECT_EQ(parse_server_urls("unix:/a")->size(), 1U);
  for (const char* bad : {"", ",", "http://a,", ",http://a", "http://a,ftp://b"}) {
    EXPECT_FALSE(parse_server_urls(bad)) << bad;
  }
}

TEST(ServerUrl, SecretsAreNotRepeated) {
  for (const char* url : {"http://anna:swordfish@host:7711", "http://host:7711?token=swordfish"}) {
    const auto refused = parse_server_url(url);
    ASSERT_FALSE(refused.has_value()) << url;
    EXPECT_FALSE(refused.error().message.contains("swordfish")) << refused.error().message;
    EXPECT_TRUE(refused.error().message.contains("http://host:7711")) << refused.error().message;
  }
}

TEST(ServerUrl, WhatIsNoneIsRefused) {
  for (const char* bad : {"", "http://", "http://:80", "http://h:0", "http://h:99999", "http://h?ca=x", "ftp://h",
                          "unix:", "https://h?x=y"}) {
    EXPECT_FALSE(parse_server_url(bad)) << bad;
  }
}

}  // namespace
}  // namespace drover
