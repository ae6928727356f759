// Commands as bytes.
#include "store/redis/command.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace drover::redis {
namespace {

using std::string_literals::operator""s;

std::string bytes_of(const Command& command) {
  std::string bytes;
  command.append_to(bytes);
  return bytes;
}

TEST(RedisCommandTest, IsWrittenWithItsCountAndLengths) {
  EXPECT_EQ(bytes_of(Command("PING")), "*1\r\n$4\r\nPING\r\n");
  EXPECT_EQ(bytes_of(Command("SET", "k", "\0\r\n"s)), "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\n\0\r\n\r\n"s);
  EXPECT_EQ(bytes_of(Command("X", "")), "*2\r\n$1\r\nX\r\n$0\r\n\r\n");
}

TEST(RedisCommandTest, WritesIntegersAsText) {
  EXPECT_EQ(bytes_of(Command("X").add(0, -1)), "*3\r\n$1\r\nX\r\n$1\r\n0\r\n$2\r\n-1\r\n");
  EXPECT_EQ(bytes_of(Command("X", std::numeric_limits<std::int64_t>::min())),
            "*2\r\n$1\r\nX\r\n$20\r\n-9223372036854775808\r\n");
  EXPECT_EQ(bytes_of(Command("X", std::numeric_limits<std::uint64_t>::max())),
            "*2\r\n$1\r\nX\r\n$20\r\n18446744073709551615\r\n");
}

TEST(RedisCommandTest, GrowsByManyArgumentsAndIsAppended) {
  Command command("FCALL");
  for (int i = 0; i < 20'000; ++i) command.add("a");
  EXPECT_EQ(command.argument_count(), 20'001U);
  std::string buffer = "before";
  command.append_to(buffer);
  EXPECT_TRUE(buffer.starts_with("before*20001\r\n$5\r\nFCALL\r\n$1\r\na\r\n"));
  EXPECT_LE(buffer.size() - 6, command.bytes());
  EXPECT_EQ(buffer.size(), 6 + 8 + 11 + 20'000 * 7);
}

}  // namespace
}  // namespace drover::redis
