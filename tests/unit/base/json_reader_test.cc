#include "base/json_reader.h"

#include <gtest/gtest.h>

namespace drover::json {
namespace {

std::string message_of(const Status& status) {
  return status ? "" : status.error().message;
}

TEST(JsonReader, ReadsMembersByName) {
  std::string text;
  std::int64_t number = 0;
  bool truth = false;
  std::vector<std::string> words;
  Reader in(R"({"a": "x\u0041", "n": -7, "t": true, "w": ["p", "q"]})");
  in.need("n", number).need("a", text).need("t", truth).need("w", words);
  EXPECT_TRUE(in.finish_strictly());
  EXPECT_EQ(text, "xA");
  EXPECT_EQ(number, -7);
  EXPECT_TRUE(truth);
  EXPECT_EQ(words, (std::vector<std::string>{"p", "q"}));
}

TEST(JsonReader, WhatIsMissingOrNullLeavesTheDefault) {
  int kept = 3;
  std::optional<int> unset;
  Reader in(R"({"b": null})");
  in.get("a", kept).get("b", unset);
  EXPECT_TRUE(in.finish_strictly());
  EXPECT_EQ(kept, 3);
  EXPECT_EQ(unset, std::nullopt);
  EXPECT_FALSE(in.has("b"));
}

TEST(JsonReader, ADocumentInsideKeepsEveryByteButWhiteSpace) {
  std::optional<std::string> inner;
  std::optional<std::string> null;
  Reader in(R"({"p": { "k" : [1.0, 1e3, "\u0041"] } , "z": null})");
  in.get_text("p", inner).get_any_text("z", null);
  EXPECT_TRUE(in.finish_strictly());
  EXPECT_EQ(inner, R"({"k":[1.0,1e3,"\u0041"]})");
  EXPECT_EQ(null, "null");
}

TEST(JsonReader, TheFirstProblemIsKeptAndNamesItsMember) {
  int number = 0;
  std::string text;
  Reader in(R"({"n": "x", "t": 5})");
  in.need("n", number).need("t", text).need("gone", text);
  EXPECT_EQ(message_of(in.finish()), "n: expected a whole number, not a string");
}

TEST(JsonReader, ANeededMemberMustBeThere) {
  int number = 0;
  Reader in("{}");
  in.need("n", number);
  EXPECT_EQ(message_of(in.finish()), "n is missing");
}

TEST(JsonReader, ANeededDocumentMayBeNullButMustBeThere) {
  std::string text;
  Reader in(R"({"z": null, "p": [ 1 ]})");
  in.need_any_text("z", text);
  EXPECT_EQ(text, "null");
  in.need_any_text("p", text);
  EXPECT_EQ(text, "[1]");
  in.need_any_text("gone", text);
  EXPECT_EQ(message_of(in.finish()), "gone is missing");
}

TEST(JsonReader, StrangersMatterOnlyWhenAskedStrictly) {
  Reader in(R"({"new": 1})");
  EXPECT_TRUE(in.finish());
  EXPECT_EQ(message_of(in.finish_strictly()), "unknown field \"new\"");
}

TEST(JsonReader, NumbersMustBeWholeAndFit) {
  for (const char* bad : {"1.5", "1e3", "99999999999999999999", "true"}) {
    int number = 0;
    EXPECT_FALSE(read_json(bad, number)) << bad;
  }
  Millis time{};
  EXPECT_FALSE(read_json("-1", time));
}

TEST(JsonReader, WhatIsNoObjectIsAProblem) {
  EXPECT_FALSE(Reader("[1]").finish());
  EXPECT_FALSE(Reader("").finish());
  EXPECT_EQ(Reader("{").finish().error().code, ErrorCode::kInvalidJson);
}

TEST(JsonReader, ElementsOfAnArrayAreTheirTexts) {
  const auto items = elements(R"([ {"a":[1,2]} ,"x", 3 ])");
  ASSERT_TRUE(items);
  ASSERT_EQ(items->size(), 3U);
  EXPECT_EQ((*items)[0], R"({"a":[1,2]})");
  EXPECT_EQ((*items)[1], "\"x\"");
  EXPECT_EQ((*items)[2], "3");
  EXPECT_TRUE(elements("[]")->empty());
}

}  // namespace
}  // namespace drover::json
