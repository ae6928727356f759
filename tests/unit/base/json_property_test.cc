// Random documents, and random damage to them. The seed stands in every failure.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "base/rng.h"
#include "base/text.h"

namespace drover::json {
namespace {

constexpr std::uint64_t kDocuments = 500;

// Writes one random document in two spellings: loose, with white space anywhere it may stand, and without.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : rng_(seed) { value(0); }

  [[nodiscard]] const std::string& loose() const { return loose_; }
  [[nodiscard]] const std::string& tight() const { return tight_; }

 private:
  void value(int depth) {
    space();
    switch (rng_.below(depth < 8 ? 8 : 6)) {
      case 0:
        put("null");
        break;
      case 1:
        put(rng_.below(2) == 0 ? "true" : "false");
        break;
      case 2:
      case 3:
        number();
        break;
      case 4:
      case 5:
        string("");
        break;
      case 6:
        array(depth);
        break;
      case 7:
        object(depth);
        break;
    }
    space();
  }

  void array(int depth) {
    put("[");
    space();
    const std::uint64_t count = rng_.below(6);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i > 0) put(",");
      value(depth + 1);
    }
    put("]");
  }

  void object(int depth) {
    put("{");
    space();
    const std::uint64_t count = rng_.below(6);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i > 0) put(",");
      space();
      string("k" + std::to_string(i) + "_");  // distinct
      space();
      put(":");
      value(depth + 1);
    }
    put("}");
  }

  void digits() {
    for (std::uint64_t left = 1 + rng_.below(rng_.below(10) == 0 ? 40 : 4); left > 0; --left) {
      put(std::string(1, static_cast<char>('0' + rng_.below(10))));
    }
  }

  void number() {
    if (rng_.below(2) == 0) put("-");
    if (rng_.below(3) == 0) {
      put("0");
    } else {
      put(std::string(1, static_cast<char>('1' + rng_.below(9))));
      if (rng_.below(2) == 0) digits();
    }
    if (rng_.below(3) == 0) {
      put(".");
      digits();
    }
    if (rng_.below(3) == 0) {
      put(pick({"e", "E", "e+", "E+", "e-", "E-"}));
      digits();
    }
  }

  void string(std::string_view prefix) {
    put("\"");
    put(prefix);
    for (std::uint64_t left = rng_.below(12); left > 0; --left) {
      put(pick({"a",
                "Z",
                " ",
                "  ",
                "/",
                "'",
                "é",
                "水",
                "🐑",
                "\x7f",
                "[",
                "}",
                ":",
                ",",
                R"(\")",
                R"(\\)",
                R"(\/)",
                R"(\b)",
                R"(\f)",
                R"(\n)",
                R"(\r)",
                R"(\t)",
                R"(\u0000)",
                R"(\u001F)",
                R"(\u00e9)",
                R"(\u2028)",
                R"(\uFFFF)",
                R"(\uD83D\uDC11)",
                R"(\udbff\udfff)"}));
    }
    put("\"");
  }

  std::string_view pick(std::initializer_list<std::string_view> choices) {
    return choices.begin()[rng_.below(choices.size())];
  }

  void put(std::string_view text) {
    loose_ += text;
    tight_ += text;
  }

  void space() {
    while (rng_.below(3) == 0) loose_ += pick({" ", "\t", "\n", "\r\n"});
  }

  SeededRng rng_;
  std::string loose_;
  std::string tight_;
};

TEST(JsonPropertyTest, CompactGivesTheTightSpelling) {
  for (std::uint64_t seed = 0; seed < kDocuments; ++seed) {
    const Generator document(seed);
    EXPECT_EQ(compact(document.loose()), document.tight()) << "seed " << seed;
    EXPECT_EQ(compact(document.tight()), document.tight()) << "seed " << seed;
  }
}

TEST(JsonPropertyTest, WhatIsDumpedIsReadBack) {
  for (std::uint64_t seed = 0; seed < kDocuments; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Generator document(seed);
    const auto value = parse(document.loose());
    ASSERT_TRUE(value.has_value()) << document.loose();
    ASSERT_EQ(parse(document.tight()), value);
    const std::string dumped = dump(*value);
    ASSERT_EQ(parse(dumped), value);
    ASSERT_EQ(parse(dump_pretty(*value)), value);
    ASSERT_EQ(compact(dump_pretty(*value)), dumped);
    ASSERT_TRUE(is_utf8(dumped));
  }
}

std::string damaged(std::string text, SeededRng& rng) {
  static constexpr std::string_view kInsertions = "{}[],:\"\\ue0-.9\n \x01\xFF\xC3";
  const std::size_t at = rng.below(text.size());
  switch (rng.below(4)) {
    case 0:
      return text.erase(at, 1);
    case 1:
      return text.insert(at, 1, kInsertions[rng.below(kInsertions.size())]);
    case 2:
      return text.substr(0, at);
    default:
      text[at] = static_cast<char>(rng.below(256));
      return text;
  }
}

TEST(JsonPropertyTest, DamageIsRefusedOrMeansSomethingByBothReaders) {
  std::size_t refused = 0;
  for (std::uint64_t seed = 0; seed < 4 * kDocuments; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRng rng(seed);
    const std::string text = damaged(Generator(seed).loose(), rng);
    const auto value = parse(text);
    const auto compacted = compact(text);
    ASSERT_EQ(value.has_value(), compacted.has_value()) << text;
    if (!value) {
      ++refused;
      ASSERT_EQ(value.error(), compacted.error());
      continue;
    }
    ASSERT_EQ(parse(*compacted), value) << text;
    ASSERT_EQ(parse(dump(*value)), value) << text;
  }
  EXPECT_GT(refused, kDocuments);
}

}  // namespace
}  // namespace drover::json
