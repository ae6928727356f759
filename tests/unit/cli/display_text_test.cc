#include "cli/display_text.h"

#include <gtest/gtest.h>

#include <string>

namespace drover::cli {
namespace {

using namespace std::string_literals;

TEST(DisplayTextTest, CountsColumns) {
  const struct {
    std::string text;
    std::size_t width;
  } rows[] = {
      {"", 0},       {"plain", 5},   {"Schäfer", 7}, {"e\u0301", 1},  // e and a combining accent
      {"羊飼い", 6}, {"a羊b", 4},    {"한글", 4},    {"🐑", 2},
      {"☃", 1},      {"⏳ wait", 7}, {"\xFF", 1},    {"zero\u200Bwidth", 9},
      {"Ａ", 2},     {"👍🏽", 2},  // with a skin tone
  };
  for (const auto& row : rows) EXPECT_EQ(display_width(row.text), row.width) << row.text;
}

TEST(DisplayTextTest, CutsBetweenCharacters) {
  const struct {
    std::string text;
    std::size_t width;
    std::string cut;
  } rows[] = {
      {"abcdef", 6, "abcdef"}, {"abcdef", 5, "abcd…"}, {"abcdef", 1, "…"}, {"abcdef", 0, ""}, {"羊飼い", 6, "羊飼い"},
      {"羊飼い", 5, "羊飼…"},  {"羊飼い", 4, "羊…"},   {"羊飼い", 2, "…"}, {"", 3, ""},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(cut_to_width(row.text, row.width), row.cut) << row.text << " to " << row.width;
    EXPECT_LE(display_width(row.cut), row.width);
  }
}

TEST(DisplayTextTest, FillsToTheWidth) {
  EXPECT_EQ(fit_left("ab", 4), "ab  ");
  EXPECT_EQ(fit_right("ab", 4), "  ab");
  EXPECT_EQ(fit_left("羊飼い", 4), "羊… ");
  EXPECT_EQ(fit_right("羊", 4), "  羊");
}

TEST(DisplayTextTest, BreaksBetweenWords) {
  EXPECT_EQ(wrapped("one two three", 4, 12), "one two\n    three");
  EXPECT_EQ(wrapped("one two", 0, 7), "one two");
  EXPECT_EQ(wrapped("a-word-that-is-too-long for it", 2, 8), "a-word-that-is-too-long\n  for it");
  EXPECT_EQ(wrapped("", 4, 12), "");
}

TEST(DisplayTextTest, MakesOneHarmlessLine) {
  const struct {
    std::string text;
    std::string line;
  } rows[] = {
      {"two\nlines", "two lines"},
      {"  much \t\r\n space ", "much space"},
      {"\x1b[31mred\x1b[0m", "red"},
      {"\x1b]0;title\a text", "text"},
      {"\x1b]8;;http://x\x1b\\link", "link"},
      {"cut \x1b[31", "cut"},
      {"cut \x1b", "cut"},
      {"bell\a", "bell\uFFFD"},
      {"nul\0"s, "nul\uFFFD"},
      {"\u009B31m", "\uFFFD31m"},  // CSI as one C1 character
      {"\x80", "\uFFFD"},
      {"a\u202Eb", "a\uFFFDb"},  // right-to-left override
      {"羊 🐑", "羊 🐑"},
  };
  for (const auto& row : rows) EXPECT_EQ(one_line(row.text), row.line) << testing::PrintToString(row.text);
}

TEST(DisplayTextTest, KeepsLinesOfLongOutput) {
  EXPECT_EQ(harmless("a\n\tb\r\n\x1b[2Jc\rd"), "a\n\tb\r\nc\uFFFDd");
}

TEST(DisplayTextTest, EscapesFields) {
  EXPECT_EQ(tsv_field("a\tb\nc\rd\\e"), "a\\tb\\nc\\rd\\\\e");
}

}  // namespace
}  // namespace drover::cli
