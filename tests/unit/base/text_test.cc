#include "base/text.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace drover {
namespace {

using namespace std::string_literals;

TEST(Utf8Test, AcceptsWellFormedText) {
  for (const std::string& text : {
           ""s,
           "plain"s,
           "\0"s,
           "\x7F"s,
           "\xC2\x80"s,          // U+0080
           "\xDF\xBF"s,          // U+07FF
           "\xE0\xA0\x80"s,      // U+0800
           "\xED\x9F\xBF"s,      // U+D7FF
           "\xEE\x80\x80"s,      // U+E000
           "\xEF\xBF\xBF"s,      // U+FFFF
           "\xF0\x90\x80\x80"s,  // U+10000
           "\xF4\x8F\xBF\xBF"s,  // U+10FFFF
           "Schäfer 羊飼い 🐑"s,
       }) {
    EXPECT_TRUE(is_utf8(text)) << testing::PrintToString(text);
    EXPECT_EQ(to_utf8(text), text);
  }
}

TEST(Utf8Test, RefusesAndReplacesEverythingElse) {
  const struct {
    std::string bytes;
    std::string text;
  } rows[] = {
      {"\x80", "\uFFFD"},  // continuation without a lead
      {"a\xFF"s
       "b",
       "a\uFFFDb"},                                      // never in UTF-8
      {"\xC0\x80", "\uFFFD\uFFFD"},                      // overlong NUL
      {"\xC1\xBF", "\uFFFD\uFFFD"},                      // overlong
      {"\xE0\x9F\xBF", "\uFFFD\uFFFD\uFFFD"},            // overlong
      {"\xF0\x8F\xBF\xBF", "\uFFFD\uFFFD\uFFFD\uFFFD"},  // overlong
      {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},            // U+D800
      {"\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},  // U+110000
      {"\xF5\x80\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},  // past every plane
      {"\xC3", "\uFFFD"},                                // cut off at the end
      {"\xE2\x82", "\uFFFD"},                            // cut off at the end
      {"\xF0\x9F\x90", "\uFFFD"},                        // cut off at the end
      {"\xF0\x9F\x90z", "\uFFFDz"},                      // cut off in the middle
      {"\xE2\x82\xE2\x82\xAC", "\uFFFD€"},               // cut off by another
      {"ok \xF0\x9F\x90\x91 \xC3", "ok 🐑 \uFFFD"},
  };
  for (const auto& row : rows) {
    EXPECT_FALSE(is_utf8(row.bytes)) << testing::PrintToString(row.bytes);
    EXPECT_EQ(to_utf8(row.bytes), row.text);
  }
}

std::string encode(char32_t c) {
  const auto byte = [](char32_t value) { return static_cast<char>(value); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xC0 | c >> 6), byte(0x80 | (c & 0x3F))};
  if (c < 0x10000) return {byte(0xE0 | c >> 12), byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F))};
  return {byte(0xF0 | c >> 18), byte(0x80 | (c >> 12 & 0x3F)), byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F))};
}

TEST(Utf8Test, KnowsEveryCodePoint) {
  for (char32_t c = 0; c <= 0x110400; ++c) {
    const bool wanted = c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
    ASSERT_EQ(is_utf8(encode(c)), wanted) << static_cast<std::uint32_t>(c);
  }
}

TEST(Utf8Test, StepsOverOneSequence) {
  EXPECT_EQ(utf8_step("").bytes, 0U);
  EXPECT_EQ(utf8_step("abc").bytes, 1U);
  EXPECT_EQ(utf8_step("€uro").bytes, 3U);
  EXPECT_TRUE(utf8_step("€uro").valid);
  EXPECT_EQ(utf8_step("\xE2\x82uro").bytes, 2U);
  EXPECT_FALSE(utf8_step("\xE2\x82uro").valid);
}

TEST(NameTest, FollowsTheRule) {
  for (const std::string& name : {"a"s, "agent.claude-1"s, "user@host:queue_7"s, "-"s, "0"s, std::string(128, 'x')}) {
    EXPECT_TRUE(is_name(name)) << name;
  }
  for (const std::string& name :
       {""s, std::string(129, 'x'), "a b"s, "a/b"s, "a\n"s, "a\0"s, "ä"s, "a*"s, "{a}"s, "a,b"s, "a$"s, "a+b"s}) {
    EXPECT_FALSE(is_name(name)) << testing::PrintToString(name);
  }
}

TEST(NameTest, ChecksEveryByte) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:@-";
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    EXPECT_EQ(is_name(std::string(1, c)), kAllowed.contains(c)) << byte;
  }
}

TEST(QuotedExcerptTest, QuotesEscapesAndCuts) {
  EXPECT_EQ(quoted_excerpt(""), R"("")");
  EXPECT_EQ(quoted_excerpt("5x"), R"("5x")");
  EXPECT_EQ(quoted_excerpt("a\n\x1b\"\xFF"), "\"a\\n\\u001b\\\"\uFFFD\"");
  EXPECT_EQ(quoted_excerpt(std::string(60, 'x')), '"' + std::string(60, 'x') + '"');
  EXPECT_EQ(quoted_excerpt(std::string(61, 'x')), '"' + std::string(60, 'x') + "\"...");
  // The cut falls into the sheep, which is left out whole.
  EXPECT_EQ(quoted_excerpt(std::string(58, 'x') + "🐑🐑"), '"' + std::string(58, 'x') + "\"...");
  // Continuation bytes without end do not lead the cut astray.
  EXPECT_TRUE(quoted_excerpt(std::string(100, '\x80')).ends_with("\uFFFD\"..."));
}

TEST(CountedTest, OneIsSingular) {
  EXPECT_EQ(counted(0, "task"), "0 tasks");
  EXPECT_EQ(counted(1, "task"), "1 task");
  EXPECT_EQ(counted(12, "dead letter"), "12 dead letters");
}

TEST(EditDistanceTest, CountsSingleCharacterChanges) {
  const struct {
    std::string_view a;
    std::string_view b;
    std::size_t distance;
  } rows[] = {
      {"", "", 0},         {"", "abc", 3},           {"abc", "abc", 0},
      {"abc", "abd", 1},   {"abc", "abcd", 1},       {"kitten", "sitting", 3},
      {"flaw", "lawn", 2}, {"enqueue", "enqeue", 1}, {"intention", "execution", 5},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(edit_distance(row.a, row.b), row.distance) << row.a << " " << row.b;
    EXPECT_EQ(edit_distance(row.b, row.a), row.distance) << row.b << " " << row.a;
  }
}

TEST(ClosestWordTest, SuggestsOnlyWhatIsLikely) {
  constexpr std::array<std::string_view, 5> kKnown{"enqueue", "list", "show", "wait", "up"};
  EXPECT_EQ(closest_word("enqeue", kKnown), "enqueue");
  EXPECT_EQ(closest_word("lsit", kKnown), "list");
  EXPECT_EQ(closest_word("enqueue", kKnown), "enqueue");
  EXPECT_EQ(closest_word("frobnicate", kKnown), "");
  EXPECT_EQ(closest_word("", kKnown), "");
  EXPECT_EQ(closest_word("xy", kKnown), "");  // two changes make "up" of anything
}

}  // namespace
}  // namespace drover
