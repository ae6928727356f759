// What error replies of Redis mean: one table, walked with the words that Redis uses.
#include "store/redis/reply_error.h"

#include <gtest/gtest.h>

#include <array>

#include "support/printers.h"

namespace drover::redis {
namespace {

using enum ErrorCode;

struct Case {
  const char* text;
  ErrorCode code;
  bool reconnects = false;
};

constexpr std::array kCases = std::to_array<Case>({
    {"LOADING Redis is loading the dataset in memory", kStoreUnavailable},
    {"TRYAGAIN Multiple keys request during rehashing of slot", kStoreUnavailable},
    {"BUSY Redis is busy running a script", kStoreUnavailable},
    {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", kStoreUnavailable},
    {"CLUSTERDOWN The cluster is down", kStoreUnavailable},
    {"CLUSTERDOWN Hash slot not served", kStoreUnavailable},
    {"NOREPLICAS Not enough good replicas to write.", kStoreUnavailable},
    {"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
     kStoreUnavailable},
    {"MOVED 3999 127.0.0.1:6381", kStoreUnavailable},
    {"ASK 3999 127.0.0.1:6381", kStoreUnavailable},
    {"CROSSSLOT Keys in request don't hash to the same slot", kStoreUnavailable},
    {"READONLY You can't write against a read only replica.", kStoreUnavailable, true},
    {"UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)", kStoreUnavailable},
    {"OOM command not allowed when used memory > 'maxmemory'.", kStoreUnavailable},
    {"NOAUTH Authentication required.", kUnauthorised},
    {"WRONGPASS invalid username-password pair or user is disabled.", kUnauthorised},
    {"NOPERM this user has no permissions to run the 'fcall' command", kUnauthorised},
    {"ERR user_function:17: LIBRARYOLD the store requires library 1.12, this is 1.11 script: drover_add, on "
     "@user_function:17.",
     kSchemaTooNew},
    {"ERR unknown command 'FCALL'", kInternal},
    {"WRONGTYPE Operation against a key holding the wrong kind of value", kInternal},
});

TEST(RedisReplyErrorTest, EachHasItsMeaning) {
  for (const Case& one : kCases) {
    const Reply reply = Reply::error(one.text);
    const Error error = error_of(reply);
    EXPECT_EQ(error.code, one.code) << one.text;
    EXPECT_TRUE(error.message.contains(one.text)) << error.message;
    EXPECT_EQ(ends_connection(reply), one.reconnects) << one.text;
  }
}

TEST(RedisReplyErrorTest, ANodeOfAClusterIsSaidToBeUnsupported) {
  for (const char* text : {"MOVED 1 h:1", "ASK 1 h:1"}) {
    EXPECT_TRUE(error_of(Reply::error(text)).message.contains("does not support yet")) << text;
  }
}

}  // namespace
}  // namespace drover::redis
