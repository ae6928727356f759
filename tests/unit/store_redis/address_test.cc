// Redis URLs.
#include "store/redis/address.h"

#include <gtest/gtest.h>

#include "support/must.h"
#include "support/printers.h"

namespace drover::redis {
namespace {

using Transport = Address::Transport;
using test::code_of;
using test::must;

TEST(RedisAddressTest, ReadsHostPortAndDatabase) {
  EXPECT_EQ(must(parse_address("redis://localhost")), (Address{.host = "localhost"}));
  EXPECT_EQ(must(parse_address("redis://localhost/")), (Address{.host = "localhost"}));
  EXPECT_EQ(must(parse_address("redis://10.0.0.1:7000/15?prefix=team:a")),
            (Address{.host = "10.0.0.1", .port = 7000, .db = 15, .prefix = "team:a"}));
  EXPECT_EQ(must(parse_address("redis://localhost?prefix=x")), (Address{.host = "localhost", .prefix = "x"}));
  EXPECT_EQ(must(parse_address("redis://[::1]:7000")), (Address{.host = "::1", .port = 7000}));
  EXPECT_EQ(must(parse_address("redis://[fe80::1]")), (Address{.host = "fe80::1"}));
}

TEST(RedisAddressTest, ReadsUserAndPassword) {
  EXPECT_EQ(must(parse_address("redis://:secret@h")), (Address{.host = "h", .password = "secret"}));
  EXPECT_EQ(must(parse_address("redis://me:p%40ss%2F%3a@h:1/2")),
            (Address{.host = "h", .port = 1, .user = "me", .password = "p@ss/:", .db = 2}));
  EXPECT_EQ(must(parse_address("redis://me:p@ss@h")), (Address{.host = "h", .user = "me", .password = "p@ss"}));
}

TEST(RedisAddressTest, ReadsTlsAndUnixSockets) {
  EXPECT_EQ(must(parse_address("rediss://h?ca=/etc/my%20ca.pem&prefix=p")),
            (Address{.transport = Transport::kTls, .host = "h", .ca_file = "/etc/my ca.pem", .prefix = "p"}));
  EXPECT_EQ(must(parse_address("redis+unix:///run/redis.sock?db=3&prefix=p")),
            (Address{.transport = Transport::kUnix, .path = "/run/redis.sock", .db = 3, .prefix = "p"}));
  EXPECT_EQ(must(parse_address("redis+unix://me:pw@/run/r.sock")),
            (Address{.transport = Transport::kUnix, .path = "/run/r.sock", .user = "me", .password = "pw"}));
}

TEST(RedisAddressTest, RefusesTheRestAndSaysWhatToDo) {
  for (const char* url : {"",
                          "redis:",
                          "redis:/h",
                          "redis://",
                          "redis:///0",
                          "redis://:6379",
                          "http://h",
                          "redis://h:0",
                          "redis://h:65536",
                          "redis://h:",
                          "redis://h:12x",
                          "redis://h/-1",
                          "redis://h/x",
                          "redis://h/1/2",
                          "redis://h?prefix=",
                          "redis://h?prefix=a b",
                          "redis://h?prefix",
                          "redis://h?prefix=%2",
                          "redis://h?prefix=%zz",
                          "redis://h?ca=/x",
                          "redis://h?db=1",
                          "redis://h?colour=red",
                          "rediss://h?ca=",
                          "rediss://h?insecure=1",
                          "redis://[::1",
                          "redis://::1",
                          "redis://[::1]x",
                          "redis://me@h",
                          "redis://me:@h",
                          "redis://me:%4@h",
                          "redis+unix://h/path",
                          "redis+unix://",
                          "redis+unix:///",
                          "redis+unix:///a%00b",
                          "redis+unix:///s?db=x",
                          "redis://u:a/b@h"}) {
    const Result<Address> address = parse_address(url);
    ASSERT_EQ(code_of(address), ErrorCode::kInvalidArgument) << url;
    EXPECT_GT(address.error().message.size(), 20U) << url;
  }
}

TEST(RedisAddressTest, NamesWhatThisVersionCannotDo) {
  for (const char* url : {"redis+sentinel://a,b/master", "redis+cluster://a,b"}) {
    const Result<Address> address = parse_address(url);
    ASSERT_EQ(code_of(address), ErrorCode::kInvalidArgument);
    EXPECT_TRUE(address.error().message.contains("not supported yet by this version"));
  }
}

TEST(RedisAddressTest, NeverShowsThePassword) {
  EXPECT_EQ(to_string(must(parse_address("redis://me:hunter2@h:1/2?prefix=p"))), "redis://me@h:1/2?prefix=p");
  EXPECT_EQ(to_string(must(parse_address("rediss://:hunter2@[::1]"))), "rediss://[::1]:6379/0?prefix=ade");
  EXPECT_EQ(to_string(must(parse_address("redis+unix://:hunter2@/a b"))), "redis+unix:///a%20b?db=0&prefix=ade");
  // Mistakes that put parts of the password where another part of a URL is expected.
  for (const char* url : {"redis://me:hunter2/x@h", "redis://me:hunter2?x@h", "redis://me:hunter2#x@h", "hunter2",
                          "redis://hunter2@h", "redis://:hunter2%@h", "redis://h:hunter2", "redis://h/hunter2",
                          "redis://h?hunter2=1", "redis://h?prefix=hunter2@!"}) {
    const Result<Address> address = parse_address(url);
    ASSERT_FALSE(address.has_value()) << url;
    EXPECT_FALSE(to_string(address.error()).contains("hunter2")) << url;
  }
}

}  // namespace
}  // namespace drover::redis
