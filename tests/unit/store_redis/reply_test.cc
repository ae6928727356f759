// Replies: what the reader makes of bytes, what callers may ask of them, what errors mean.
#include "store/redis/reply.h"

#include <gtest/gtest.h>

#include "store/redis/reply_error.h"
#include "store/redis/reply_reader.h"
#include "support/must.h"
#include "support/printers.h"

namespace drover::redis {
namespace {

using std::string_literals::operator""s;
using test::code_of;
using test::must;

std::vector<Reply> read_all(std::string_view bytes, std::size_t step) {
  ReplyReader reader;
  std::vector<Reply> replies;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, step);
    must(reader.feed(part));
    bytes.remove_prefix(part.size());
    while (std::optional<Reply> reply = must(reader.next())) replies.push_back(*std::move(reply));
  }
  EXPECT_FALSE(reader.has_more());
  return replies;
}

TEST(RedisReplyTest, IsTheSameHoweverTheBytesArrive) {
  const std::string bytes =
      "+OK\r\n:-7\r\n$-1\r\n*-1\r\n-ERR no\r\n$4\r\n\0\r\n\xff\r\n*2\r\n*1\r\n:1\r\n$0\r\n\r\n*0\r\n"s;
  const std::vector<Reply> expected{
      Reply::status("OK"),
      Reply::integer(-7),
      Reply(),
      Reply(),
      Reply::error("ERR no"),
      Reply::bulk("\0\r\n\xff"s),
      Reply::array({Reply::array({Reply::integer(1)}), Reply::bulk("")}),
      Reply::array({}),
  };
  for (const std::size_t step : {1U, 2U, 3U, 7U, 1000U}) EXPECT_EQ(read_all(bytes, step), expected) << step;
}

TEST(RedisReplyTest, BytesThatAreNoRepliesAreAFailure) {
  for (const char* bytes : {"HTTP/1.1 400 Bad Request\r\n", "$x\r\n", ":12a\r\n", "*1\r\n?\r\n"}) {
    ReplyReader reader;
    must(reader.feed(bytes));
    EXPECT_EQ(code_of(reader.next()), ErrorCode::kStoreUnavailable) << bytes;
  }
}

TEST(RedisReplyTest, AReplyPastTheLimitIsAFailureAndManySmallOnesAreNot) {
  ReplyReader reader(100);
  for (int i = 0; i < 50; ++i) {
    must(reader.feed("$5\r\nhello\r\n"));
    EXPECT_TRUE(must(reader.next()).has_value());
  }
  must(reader.feed("$1000\r\n"));
  EXPECT_FALSE(must(reader.next()).has_value());
  must(reader.feed(std::string(90, 'x')));
  EXPECT_EQ(code_of(reader.feed(std::string(10, 'x'))), ErrorCode::kStoreUnavailable);
}

// Before anybody makes room for them.
TEST(RedisReplyTest, AnArrayThatAnnouncesTooMuchIsAFailure) {
  for (const std::string bytes : {"*4194305\r\n", "*2147483647\r\n", "*2\r\n:1\r\n*9999999\r\n"}) {
    ReplyReader reader;
    must(reader.feed(bytes));
    const auto next = reader.next();
    ASSERT_EQ(code_of(next), ErrorCode::kStoreUnavailable) << bytes;
    EXPECT_EQ(next.error().message, "Redis announced more than 4194304 elements, or nested deeper than 8") << bytes;
  }
  ReplyReader reader;
  must(reader.feed("*4194304\r\n:1\r\n"));
  EXPECT_FALSE(must(reader.next()).has_value());
}

TEST(RedisReplyTest, ArraysNestEightDeepAndNoDeeper) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += "*1\r\n";
  ReplyReader reader;
  must(reader.feed(bytes + ":1\r\n"));
  EXPECT_TRUE(must(reader.next()).has_value());
  must(reader.feed(bytes + bytes));
  EXPECT_EQ(code_of(reader.next()), ErrorCode::kStoreUnavailable);
}

TEST(RedisReplyTest, SaysWhetherBytesAreLeft) {
  ReplyReader reader;
  must(reader.feed("+OK\r\n+"));
  EXPECT_TRUE(must(reader.next()).has_value());
  EXPECT_TRUE(reader.has_more());
}

TEST(RedisReplyTest, GivesWhatItHolds) {
  EXPECT_EQ(must(Reply::integer(5).as_integer()), 5);
  EXPECT_EQ(must(Reply::bulk("-12").as_integer()), -12);
  EXPECT_EQ(must(Reply::bulk("").as_text()), "");
  EXPECT_EQ(must(Reply::status("OK").as_text()), "OK");
  const Reply pair = Reply::array({Reply(), Reply::integer(2)});
  EXPECT_EQ(must(pair.as_array_of(2))[1], Reply::integer(2));
  EXPECT_EQ(must(Reply().as_maybe_text()), std::nullopt);
  EXPECT_EQ(must(Reply().as_maybe_integer()), std::nullopt);
  EXPECT_EQ(must(Reply::bulk("x").as_maybe_text()), "x");
}

TEST(RedisReplyTest, AnotherShapeThanExpectedIsAnError) {
  for (const Reply& reply : {Reply(), Reply::bulk("12x"), Reply::bulk(""), Reply::bulk("99999999999999999999"),
                             Reply::array({Reply::integer(1)})}) {
    EXPECT_EQ(code_of(reply.as_integer()), ErrorCode::kInternal);
  }
  EXPECT_EQ(code_of(Reply::integer(1).as_text()), ErrorCode::kInternal);
  EXPECT_EQ(code_of(Reply().as_text()), ErrorCode::kInternal);
  EXPECT_EQ(code_of(Reply::bulk("x").as_array()), ErrorCode::kInternal);
  const Reply one = Reply::array({Reply()});
  EXPECT_EQ(code_of(one.as_array_of(2)), ErrorCode::kInternal);
  EXPECT_EQ(code_of(Reply::integer(1).as_maybe_text()), ErrorCode::kInternal);
  EXPECT_EQ(Reply::bulk("nonsense").as_integer().error().message,
            "Redis answered a text \"nonsense\" where an integer was expected");
}

TEST(RedisReplyTest, AnErrorReplyIsItsMeaning) {
  EXPECT_EQ(code_of(Reply::error("OOM command not allowed").as_text()), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(code_of(Reply::error("NOPERM no").as_array()), ErrorCode::kUnauthorised);
  EXPECT_EQ(code_of(Reply::error("WRONGTYPE Operation").as_integer()), ErrorCode::kInternal);
}

TEST(RedisReplyTest, OnlyTheFirstWordDecides) {
  EXPECT_FALSE(failure_of(Reply::error("BUSYGROUP Consumer Group name already exists")).has_value());
  EXPECT_FALSE(failure_of(Reply::error("ERR OOM")).has_value());
  EXPECT_FALSE(failure_of(Reply::bulk("OOM")).has_value());
  EXPECT_FALSE(failure_of(Reply::error("")).has_value());
  EXPECT_TRUE(failure_of(Reply::error("OOM")).has_value());
  EXPECT_TRUE(ends_connection(Reply::error("READONLY You can't write against a read only replica.")));
  EXPECT_FALSE(ends_connection(Reply::error("LOADING Redis is loading the dataset in memory")));
  EXPECT_TRUE(is_function_missing(Reply::error("ERR Function not found")));
}

}  // namespace
}  // namespace drover::redis
