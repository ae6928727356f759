#include "core/signin.h"

#include <gtest/gtest.h>

#include "core/server_name.h"
#include "support/must.h"

namespace drover::test {
namespace {

TEST(Signin, EndsTwelveHoursAfterItsLastUse) {
  const SigninRecord signin{.last_used_at = Time{Millis{1'000}}};
  EXPECT_EQ(idle_end(signin), Time{Millis{1'000}} + std::chrono::hours(12));
}

TEST(Signin, ACodeIsReadBackAsItWasWritten) {
  const SigninCode code{.code = "abc", .expires_at = Time{Millis{1'800'000'000'000}}, .url = "http://x/#in=abc"};
  SigninCode read;
  must(read_json(to_json(code), read));
  EXPECT_EQ(read.code, code.code);
  EXPECT_EQ(read.expires_at, code.expires_at);
  EXPECT_EQ(read.url, code.url);
  EXPECT_FALSE(read_json(R"({"code":"abc"})", read));
}

TEST(Signin, ARecordIsReadBackAsItWasWritten) {
  const SigninRecord record{.id = "01234567",
                            .token_id = "89abcdef",
                            .from = "192.0.2.7",
                            .user_agent = "a \"browser\"",
                            .created_at = Time{Millis{1'800'000'000'000}},
                            .last_used_at = Time{Millis{1'800'000'000'001}}};
  json::Writer out;
  out.begin_object();
  put_members(out, record);
  out.end_object();
  const std::string text = std::move(out).take();
  SigninRecord read;
  json::Reader in(text);
  read_members(in, read);
  must(in.finish());
  EXPECT_EQ(read, record);
}

TEST(ServerName, IsShortTextWithoutControlCharacters) {
  for (const std::string good : {"production", "Büro 2", "a"}) EXPECT_TRUE(check_server_name(good)) << good;
  EXPECT_TRUE(check_server_name(std::string(kServerNameBytesMax, 'x')));
  for (const std::string bad : {"", "two\nlines", "\x7f", "\xff", "\xe2\x80"}) EXPECT_FALSE(check_server_name(bad));
  EXPECT_FALSE(check_server_name(std::string(kServerNameBytesMax + 1, 'x')));
}

TEST(ServerName, ColoursAreOfOneList) {
  for (const std::string_view colour : kServerColours) EXPECT_TRUE(check_server_colour(colour));
  const Status bad = check_server_colour("#ff0000");
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("purple"), std::string::npos);
}

}  // namespace
}  // namespace drover::test
