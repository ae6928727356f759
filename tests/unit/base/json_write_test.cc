#include <gtest/gtest.h>

#include <string>

#include "base/json.h"

namespace drover::json {
namespace {

using namespace std::string_literals;

TEST(JsonQuoteTest, EscapesOnlyWhatItMust) {
  const struct {
    std::string text;
    std::string_view quoted;
  } rows[] = {
      {"", R"("")"},
      {"plain /text/", R"("plain /text/")"},
      {"\"\\\b\f\n\r\t", R"("\"\\\b\f\n\r\t")"},
      {"\0\x01\x1f"s, R"("\u0000\u0001\u001f")"},
      {"\x7f é 🐑 \u2028", "\"\x7f é 🐑 \u2028\""},
      {"a\xFFz", "\"a\uFFFDz\""},
      {"\xED\xA0\x80", "\"\uFFFD\uFFFD\uFFFD\""},
      {"\n\xC3", "\"\\n\uFFFD\""},
  };
  for (const auto& row : rows) EXPECT_EQ(quote(row.text), row.quoted);
}

TEST(JsonDumpTest, WritesWhatWasBuilt) {
  const Value value(Value::Object{
      {"id", "x"},
      {"n", 42},
      {"big", Value::Number{"1e400"}},
      {"min", std::int64_t{INT64_MIN}},
      {"yes", true},
      {"no", false},
      {"none", Value()},
      {"list", Value::Array{1, "two", Value::Array{}, Value::Object{}}},
  });
  EXPECT_EQ(dump(value), R"({"id":"x","n":42,"big":1e400,"min":-9223372036854775808,"yes":true,"no":false,)"
                         R"("none":null,"list":[1,"two",[],{}]})");
}

TEST(JsonDumpTest, SpellsStringsInOneWay) {
  const auto value = parse(R"({"\u0041\/":"\u00e9\u001f\u000a\ud83d\udc11"})");
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(dump(*value), R"({"A/":"é\u001f\n🐑"})");
}

TEST(JsonDumpTest, PrettyIndentsByTwo) {
  const auto value = parse(R"({"a":[1,{"b":null}],"c":[],"d":{}})");
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(dump_pretty(*value), R"({
  "a": [
    1,
    {
      "b": null
    }
  ],
  "c": [],
  "d": {}
})");
  EXPECT_EQ(dump_pretty(Value("x")), "\"x\"");
}

TEST(JsonWriterTest, WritesOneDocument) {
  Writer writer;
  writer.begin_object();
  writer.key("a").number(1).key("b").string("x\n").key("c").null();
  writer.key("d").begin_array().boolean(true).boolean(false).begin_array().end_array().begin_object().end_object();
  writer.end_array();
  writer.key("e\"").raw("{\"kept\": 0.10}");
  writer.key("min").number(INT64_MIN);
  writer.end_object();
  EXPECT_EQ(std::move(writer).take(), R"({"a":1,"b":"x\n","c":null,"d":[true,false,[],{}],"e\"":{"kept": 0.10},)"
                                      R"("min":-9223372036854775808})");
}

TEST(JsonWriterTest, AScalarIsADocument) {
  EXPECT_EQ(std::move(Writer().string("x")).take(), "\"x\"");
}

TEST(JsonWriterDeathTest, WrongUseIsABug) {
  EXPECT_DEATH(Writer().key("a"), "a key belongs into an object");
  EXPECT_DEATH(Writer().begin_array().key("a"), "a key belongs into an object");
  EXPECT_DEATH(Writer().begin_object().key("a").key("b"), "a key belongs into an object");
  EXPECT_DEATH(Writer().begin_object().number(1), "a member needs its key first");
  EXPECT_DEATH(Writer().begin_object().key("a").number(1).number(2), "a member needs its key first");
  EXPECT_DEATH(Writer().begin_object().key("a").end_object(), "this does not end what is open");
  EXPECT_DEATH(Writer().begin_object().end_array(), "this does not end what is open");
  EXPECT_DEATH(Writer().end_array(), "this does not end what is open");
  EXPECT_DEATH(Writer().null().null(), "a document is one value");
  EXPECT_DEATH(Writer().raw(""), "no text is no JSON value");
  EXPECT_DEATH(static_cast<void>(Writer().take()), "the document is not complete");
  EXPECT_DEATH(static_cast<void>(std::move(Writer().begin_array()).take()), "the document is not complete");
}

}  // namespace
}  // namespace drover::json
