#include "core/fingerprint.h"

#include <gtest/gtest.h>

#include <random>

#include "base/text.h"

namespace drover {
namespace {

struct PatternCase {
  std::string_view message;
  std::string_view pattern;
};

constexpr PatternCase kPatterns[] = {
    {"", ""},
    {"connection refused", "connection refused"},
    {"  two\n\twords  ", "two words"},
    {"exit code 17", "exit code 17"},
    {"took 1.5s of 1,234.50 MB", "took <n>s of <n> MB"},
    {"worker3 lost 10MB", "worker<n> lost <n>MB"},
    {"-5 is below 0", "-<n> is below <n>"},
    {"v1.2.3 is too old", "v<n> is too old"},
    {"id=42 (task_7)", "id=<n> (task_<n>)"},
    {"HTTP 429: slow down", "HTTP 429: slow down"},
    {"HTTP/1.1 503 Service Unavailable", "HTTP 503 Service Unavailable"},
    {"error 429, error 7, error: 4290", "error 429, error <n>, error: <n>"},
    {"code 123456, code=7 and 8", "code <n>, code=7 and <n>"},
    {"statusCode: 401, exitStatus 3, barcode 401", "statusCode: 401, exitStatus 3, barcode <n>"},
    {"page 404 is gone (404), 404 Not Found, 404 Notes", "page <n> is gone (404), 404 Not Found, <n> Notes"},
    {"error[E0308], error TS2345, e0308", "error[E0308], error TS2345, e<n>"},
    {R"({"type":"error","code":429,"n":17,"id":"3f9c2ab1"})", R"({"type":"error","code":429,"n":<n>,"id":"<id>"})"},
    {R"({"m":"{\"type\":\"x\"}\nline"} "word")", R"({"m":"{"type":"x"} line"} <quoted>)"},
    {R"({\)", R"({\)"},
    {R"({\x "a"} x.:5)", R"({<path> "a"} x.:<n>)"},
    {"{'type': 'a b'} 'c'", "{'type': 'a b'} <quoted>"},
    {"said \"connection refused\" to 'ENOENT' and 'parse_error' at ';'",
     "said \"connection refused\" to 'ENOENT' and 'parse_error' at ';'"},
    {"said \" x \" and \"read 5 bytes of /a/b\"", "said <quoted> and \"read <n> bytes of <path>\""},
    {"connect to host db1 port 22", "connect to host <host> port <n>"},
    {"to host: db1, ENOTFOUND db2, host db3", "to host: <host>, ENOTFOUND <host>, host db<n>"},
    {"redis.internal:6379, 10.0.0.5:80, localhost, a_b.com, asyncio.run",
     "<host>, <host>, <host>, a_b.com, asyncio.run"},
    {"after 1m30s, 2h15m3s, 1m30x, 5s", "after <n>s, <n>s, <id>, <n>s"},
    {"abcdef1 0xdeadbeef 0x deadbeef", "<id> <id> <n>x deadbeef"},
    {"on Sun, 15 Nov 2026 18:21:52 GMT at 7:21 PM or Nov 17 05:19:37", "on <time> at <time> or <time>"},
    {"a.b:c and x.toolong:3 and .c:3 and 5.c:3", "a.b:c and x.toolong:<n> and .c:<n> and <n>.c:<n>"},
    {"task 018f3c2a-77aa-7c01-9f00-0123456789ab is gone", "task <id> is gone"},
    {"task-018F3C2A-77AA-7C01-9F00-0123456789AB.", "task-<id>."},
    {"dead-letter-queue-of-the-engine-is-no-uuid", "dead-letter-queue-of-the-engine-is-no-uuid"},
    {"commit 3f9c2ab at 0x7ffd12a0", "commit <id> at <id>"},
    {"request req_011CSHoEeqs5C35K failed", "request req_<id> failed"},
    {"cannot open /var/lib/x.db: no such file", "cannot open <path>: no such file"},
    {"src/main.cc:12:3: expected ;", "<path>: expected ;"},
    {"main.cc:12:3: expected ;", "<path>: expected ;"},
    {"./run and ../up and ~/home/x", "<path> and <path> and <path>"},
    {R"(C:\temp\a.txt is locked)", "<path> is locked"},
    {"12/15 done, read/write, 5/s", "<n>/<n> done, read/write, <n>/s"},
    {"GET https://api.example.com/v1/x?id=3;y failed", "GET <url> failed"},
    {"see (http://localhost:80).", "see (<url>)."},
    {"cannot reach http://localhost:80/x?!", "cannot reach <url>?!"},
    {"at 2026-11-16T05:19:37.123Z", "at <time>"},
    {"at 2026-11-16 05:19:37,5", "at <time> <time>"},
    {"field \"name\" and `x` and 'y z'.", "field <quoted> and <quoted> and 'y z'."},
    {"it can't be 'it''s' here", "it can't be <quoted> here"},
    {"the user's file", "the user's file"},
    {"an open \"quote 5", "an open \"quote <n>"},
    {"\"\"", "<quoted>"},
    {"\x1b[31;1mred\x1b[0m\x1b[", "red"},
    {"two\x7fwords", "two words"},
    {"größe 5 übertrifft", "größe <n> übertrifft"},
    {"bad \xff byte", "bad \xEF\xBF\xBD byte"},
    {"/", "/"},
    {"<n> stays <n>", "<n> stays <n>"},
};

TEST(Fingerprint, PatternLeavesOutWhatDiffers) {
  for (const auto& [message, pattern] : kPatterns) EXPECT_EQ(pattern_of(message), pattern) << message;
}

TEST(Fingerprint, PatternIsCutBetweenWords) {
  std::string message;
  for (int i = 0; i < 100; ++i) message += "word ";
  const std::string pattern = pattern_of(message);
  EXPECT_EQ(pattern, message.substr(0, pattern.size()));
  EXPECT_EQ(pattern.size(), kPatternBytesMax - 1);
  EXPECT_TRUE(pattern.ends_with("word"));
}

TEST(Fingerprint, FirstWordIsCutInside) {
  EXPECT_EQ(pattern_of(std::string(1'000, 'x')), std::string(kPatternBytesMax, 'x'));
  std::string japanese;
  for (int i = 0; i < 200; ++i) japanese += "失";
  EXPECT_TRUE(is_utf8(pattern_of(japanese)));
  EXPECT_EQ(pattern_of(japanese).size(), kPatternBytesMax / 3 * 3);
  EXPECT_EQ(pattern_of("x" + japanese), "x" + japanese.substr(0, (kPatternBytesMax - 1) / 3 * 3));
  EXPECT_EQ(pattern_of(std::string(kPatternBytesMax - 1, 'x') + "(y"), std::string(kPatternBytesMax - 1, 'x'));
  EXPECT_EQ(pattern_of(std::string(kPatternBytesMax - 3, 'x') + "5_y"), std::string(kPatternBytesMax - 3, 'x') + "<n>");
  EXPECT_EQ(pattern_of(std::string(1'000, '(')), "");
}

TEST(Fingerprint, LongPartsCountAsOne) {
  const std::string quoted = '"' + std::string(100'000, 'a') + '"';
  EXPECT_EQ(pattern_of("bad " + quoted + " here"), "bad <quoted> here");
}

// Letters and marks, and now and then something that the patterns know.
std::string random_message(std::mt19937& rng) {
  constexpr std::string_view kAlphabet = "abzAFZ0159 \t\n\"'`/\\:.,-_<>=()[]{}@#?%+~\xC3\xA4\xFF\x80\xE5\xA4\x01\x1b";
  constexpr std::string_view kKnown[] = {"code ",
                                         "status: ",
                                         "HTTP/1.1 ",
                                         "error ",
                                         "429",
                                         "12345",
                                         "E0308",
                                         "<n>",
                                         "<host>",
                                         "to host ",
                                         "429 Too Many Requests",
                                         "(500)",
                                         "\\n",
                                         "\\\"",
                                         "1m30s",
                                         "0xdead",
                                         "a.com",
                                         "Sun, 15 Nov 2026 18:21:52 GMT",
                                         "x.cc:1:2",
                                         "/a/b",
                                         "https://x/y",
                                         "my_error"};
  std::string message;
  for (auto parts = rng() % 300; parts > 0; --parts) {
    if (rng() % 8 == 0) {
      message += kKnown[rng() % std::size(kKnown)];
    } else {
      message += kAlphabet[rng() % kAlphabet.size()];
    }
  }
  return message;
}

TEST(Fingerprint, AnythingHasAPatternThatIsItsOwn) {
  std::mt19937 rng(7);
  for (int i = 0; i < 4'000; ++i) {
    const std::string message = random_message(rng);
    const std::string pattern = pattern_of(message);
    ASSERT_TRUE(is_utf8(pattern)) << message;
    ASSERT_LE(pattern.size(), kPatternBytesMax) << message;
    ASSERT_EQ(pattern_of(pattern), pattern) << message;
  }
}

TEST(Fingerprint, OtherNumbersAreTheSameFailure) {
  std::mt19937 rng(8);
  const auto number = [&] { return std::to_string(rng() % 1'000'000); };
  const auto message = [&] {
    return "run " + number() + " of task_" + number() + " took " + number() + "." + number() + "s in /srv/" + number() +
           "/x, exit=" + number();
  };
  const std::string first = fingerprint({ErrorClass::kAgentError, message()});
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(fingerprint({ErrorClass::kAgentError, message()}), first);
}

TEST(Fingerprint, IsOfClassAndPattern) {
  const std::string print = fingerprint({ErrorClass::kTimeout, "no answer in 5 s"});
  EXPECT_TRUE(is_fingerprint(print)) << print;
  EXPECT_EQ(print, fingerprint({ErrorClass::kTimeout, "no answer in 60 s"}));
  EXPECT_NE(print, fingerprint({ErrorClass::kKilled, "no answer in 5 s"}));
  EXPECT_NE(print, fingerprint({ErrorClass::kTimeout, "no reply in 5 s"}));
}

TEST(Fingerprint, IsTwelveHexDigits) {
  EXPECT_TRUE(is_fingerprint("0123456789ab"));
  EXPECT_FALSE(is_fingerprint("0123456789a"));
  EXPECT_FALSE(is_fingerprint("0123456789AB"));
  EXPECT_FALSE(is_fingerprint("0123456789ag"));
  EXPECT_FALSE(is_fingerprint("0123456789abc"));
}

}  // namespace
}  // namespace drover
