#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/json.h"

namespace drover::json {
namespace {

using namespace std::string_literals;

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

template <class T>
std::pair<ErrorCode, std::string> code_and_text(const Result<T>& result) {
  return result ? std::pair(ErrorCode::kInternal, std::string())
                : std::pair(result.error().code, result.error().message);
}

TEST(JsonParseTest, AcceptsWhatTheGrammarAllows) {
  for (const std::string& text : {
           "null"s,
           "true"s,
           "false"s,
           "0"s,
           "-0"s,
           "\"\""s,
           "[]"s,
           "{}"s,
           " \t\r\n[ \t\r\n] \t\r\n"s,
           "[1,2,3]"s,
           "[null,true,false,\"x\",0,[],{}]"s,
           "{\"a\":1,\"b\":{\"a\":2},\"c\":[{\"a\":3},{\"a\":4}]}"s,
           "{\"\":0}"s,
           "{\"a\":{\"b\":1},\"b\":{\"a\":1}}"s,
           "123"s,
           "-1"s,
           "1.5"s,
           "-0.0"s,
           "0.10"s,
           "1e5"s,
           "1E+5"s,
           "1e-5"s,
           "0e0"s,
           "1.0E+2"s,
           "1e400"s,
           "1e00001"s,
           "1234567890123456789012345678901234567890"s,
           R"("\"\\\/\b\f\n\r\t")"s,
           R"("\u0000\u001F\u00e9\uFFFF")"s,
           R"("\uD83D\uDC11")"s,
           R"("\ud800\udc00")"s,
           "\"\x7F\""s,
           "\"\u0080\u2028\u2029\uFEFF\uFFFE\""s,
           "\"\xF4\x8F\xBF\xBF\""s,
           "\"羊 🐑\""s,
           nested(64),
           nested(63),
       }) {
    const auto value = parse(text);
    EXPECT_TRUE(value.has_value()) << text << "\n" << (value ? "" : value.error().message);
    EXPECT_TRUE(compact(text).has_value()) << text;
  }
}

TEST(JsonParseTest, RefusesWhatItDoesNot) {
  for (const std::string& text : {
           ""s,
           " "s,
           "\0"s,
           "nul"s,
           "nulll"s,
           "True"s,
           "TRUE"s,
           "undefined"s,
           "NaN"s,
           "Infinity"s,
           "-Infinity"s,
           "a"s,
           "'a'"s,
           "1 2"s,
           "[]]"s,
           "[] x"s,
           "{} {}"s,
           "null\0"s,
           "[]\0"s,
           // Arrays.
           "["s,
           "]"s,
           "[,]"s,
           "[1,]"s,
           "[,1]"s,
           "[1,,2]"s,
           "[1 2]"s,
           "[1:2]"s,
           "[1"s,
           "[1,"s,
           "[1}"s,
           "[\"a\":1]"s,
           "[/* c */]"s,
           "[] // c"s,
           "[1,\v2]"s,
           "[\f]"s,
           "[\u00a0]"s,
           "[\u2028]"s,
           // Objects.
           "{"s,
           "}"s,
           "{]"s,
           "{,}"s,
           "{\"a\"}"s,
           "{\"a\":}"s,
           "{\"a\":1,}"s,
           "{\"a\":1,,\"b\":2}"s,
           "{\"a\" 1}"s,
           "{\"a\"::1}"s,
           "{:1}"s,
           "{a:1}"s,
           "{'a':1}"s,
           "{1:1}"s,
           "{null:1}"s,
           "{[]:1}"s,
           "{\"a\":1 \"b\":2}"s,
           "{\"a\":1]"s,
           "{\"a\":1"s,
           "{\"a\":"s,
           "{\"a\""s,
           "{\"a"s,
           // Keys that stand twice.
           R"({"a":1,"a":1})"s,
           R"({"a":1,"b":2,"a":3})"s,
           R"({"a":1,"\u0061":2})"s,
           R"({"\u00e9":1,"é":2})"s,
           R"({"\/":1,"/":2})"s,
           R"({"🐑":1,"\ud83d\udc11":2})"s,
           R"({"":1,"":2})"s,
           R"([{"x":{"a":1,"a":2}}])"s,
           R"({"a":{"a":1},"b":[{"a":1}],"a":0})"s,
           // Numbers.
           "+1"s,
           "-"s,
           "--1"s,
           "01"s,
           "-01"s,
           "00"s,
           "1."s,
           ".5"s,
           "-.5"s,
           "1.e5"s,
           "1e"s,
           "1e+"s,
           "1e1.5"s,
           "1.2.3"s,
           "0x1"s,
           "1_000"s,
           "1,000"s,
           "1a"s,
           "- 1"s,
           "1e 5"s,
           "\uFF11"s,
           // Strings.
           "\""s,
           "\"a"s,
           "\"\\\""s,
           "\"\\"s,
           R"("\a")"s,
           R"("\x41")"s,
           R"("\'")"s,
           "\"\\\0\""s,
           R"("\u")"s,
           R"("\u12")"s,
           R"("\u123")"s,
           R"("\u12G4")"s,
           R"("\u 123")"s,
           R"("\U0041")"s,
           "\"\\u004"s,
           "\"\n\""s,
           "\"\t\""s,
           "\"\0\""s,
           "\"\x1F\""s,
           "{\"a\n\":1}"s,
           // Surrogates that are no pair.
           R"("\ud800")"s,
           R"("\udc00")"s,
           R"("\udfff\ud800")"s,
           R"("\ud800x")"s,
           R"("\ud800\n")"s,
           R"("\ud800\ud800")"s,
           R"("\ud800\u0041")"s,
           R"("\ud800\udc0")"s,
           R"("\ud83d\\udc11")"s,
           R"({"\ud800":1})"s,
           // Bytes that are not UTF-8, and a byte order mark.
           "\"\xFF\""s,
           "\"\xC0\x80\""s,
           "\"\xED\xA0\x80\""s,
           "\"\xF4\x90\x80\x80\""s,
           "\"\xE2\x82\""s,
           "\"\xE2\x82"s,
           "{\"\x80\":1}"s,
           "\xFF"s,
           "\xEF\xBB\xBF[]"s,
           "\xFF\xFE[\0]\0"s,
           // Depth.
           nested(65),
           "[" + std::string(64, '{'),
       }) {
    const auto value = parse(text);
    ASSERT_FALSE(value.has_value()) << testing::PrintToString(text);
    EXPECT_EQ(value.error().code, ErrorCode::kInvalidJson);
    EXPECT_TRUE(value.error().message.starts_with("line ")) << value.error().message;
    const auto compacted = compact(text);
    ASSERT_FALSE(compacted.has_value()) << testing::PrintToString(text);
    EXPECT_EQ(compacted.error(), value.error());
  }
}

TEST(JsonParseTest, ErrorsNameThePlaceAndThePoint) {
  const struct {
    std::string text;
    std::string_view message;
  } rows[] = {
      {"", "line 1, column 1: expected a value, found the end of the text"},
      {"[1,\n  2,\n  x]", "line 3, column 3: expected a value, found \"x\""},
      {"{\"äöü\": ?}", "line 1, column 9: expected a value, found \"?\""},
      {"[1 2]", "line 1, column 4: expected ',' or ']', found \"2\""},
      {"{\"a\":1;}", "line 1, column 7: expected ',' or '}', found \";\""},
      {"{\"a\" 1}", "line 1, column 6: expected ':', found \"1\""},
      {"{a:1}", "line 1, column 2: expected a key in double quotes, found \"a\""},
      {"1 €", "line 1, column 3: expected nothing after the value, found \"€\""},
      {"-x", "line 1, column 2: expected a digit, found \"x\""},
      {"[007]", "line 1, column 2: a number does not begin with 0"},
      {"\n\"abc", "line 2, column 1: the string that begins here does not end"},
      {"\"a\tb\"", "line 1, column 3: a control character in a string must be escaped"},
      {R"("a\qb")", "line 1, column 3: no such escape"},
      {R"("\u12x4")", "line 1, column 2: \\u needs four hex digits"},
      {R"("x\ud800y")", "line 1, column 3: half of a surrogate pair"},
      {"\"a\xFF\"", "line 1, column 3: not UTF-8"},
      {"\xEF\xBB\xBF{}", "line 1, column 1: a byte order mark does not belong here"},
      {"{\"a\":1,\n \"b\":2,\n \"a\":3}", "line 3, column 2: key \"a\" stands twice in one object"},
      {"[\x1b]", "line 1, column 2: expected a value, found \"\\u001b\""},
      {nested(65), "line 1, column 65: nested deeper than 64 levels"},
  };
  for (const auto& row : rows) {
    const auto value = parse(row.text);
    ASSERT_FALSE(value.has_value()) << row.text;
    EXPECT_EQ(value.error().message, row.message);
    EXPECT_EQ(value.error().operation, "");
  }
}

TEST(JsonParseTest, StringsMeanWhatTheyEscape) {
  const struct {
    std::string_view text;
    std::string meaning;
  } rows[] = {
      {R"("")", ""},
      {R"("abc")", "abc"},
      {R"("\"\\\/\b\f\n\r\t")", "\"\\/\b\f\n\r\t"},
      {R"("a\u0000b")", "a\0b"s},
      {R"("\u0041\u00DF\u6c34\uD83D\uDC11")", "Aß水🐑"},
      {R"("\uD800\uDC00\uDBFF\uDFFF")", "\U00010000\U0010FFFF"},
      {R"("\\u0041")", "\\u0041"},
  };
  for (const auto& row : rows) {
    const auto value = parse(row.text);
    ASSERT_TRUE(value.has_value()) << row.text;
    ASSERT_NE(value->as_string(), nullptr);
    EXPECT_EQ(*value->as_string(), row.meaning) << row.text;
  }
}

TEST(JsonParseTest, ObjectsKeepTheirOrderAndNumbersTheirText) {
  const auto value = parse(R"({"z": 1e400, "a": -0, "m": {"y": 0.10, "b": 123456789012345678901234567890}})");
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(dump(*value), R"({"z":1e400,"a":-0,"m":{"y":0.10,"b":123456789012345678901234567890}})");
}

TEST(JsonParseTest, AnObjectHasAThousandKeysAtMost) {
  const auto object = [](int keys) {
    std::string text = "{";
    for (int i = 0; i < keys; ++i) text += fmt::format("{}\"{}\":{{}}", i > 0 ? "," : "", i);
    return text + "}";
  };
  EXPECT_TRUE(parse(object(1'000)).has_value());
  EXPECT_TRUE(parse("[" + object(1'000) + "," + object(1'000) + "]").has_value()) << "each of them";
  EXPECT_TRUE(parse(object(2'000), kDepthMax, kAnyKeys).has_value());
  for (const auto& refused : {code_and_text(parse(object(1'001))), code_and_text(compact("[" + object(1'001) + "]"))}) {
    EXPECT_EQ(refused.first, ErrorCode::kInvalidJson);
    EXPECT_NE(refused.second.find("more than 1000 keys in one object"), std::string::npos) << refused.second;
  }
}

TEST(JsonParseTest, DeepNestingIsAnErrorNotACrash) {
  for (const std::string_view part : {"[", "{\"a\":", "[{\"a\":"}) {
    std::string text;
    while (text.size() < 1'000'000) text += part;
    EXPECT_FALSE(parse(text).has_value());
    EXPECT_FALSE(compact(text).has_value());
  }
}

TEST(JsonParseTest, TakesObjectsOfManyKeys) {
  std::string text = "{";
  for (int i = 0; i < 100'000; ++i) text += "\"key" + std::to_string(i * 7919 % 100'000) + "\":0,";
  EXPECT_TRUE(parse(text + "\"last\":0}", kDepthMax, kAnyKeys).has_value());
  const auto twice = parse(text + "\"\\u006bey4711\":0}", kDepthMax, kAnyKeys);
  ASSERT_FALSE(twice.has_value());
  EXPECT_TRUE(twice.error().message.ends_with("key \"key4711\" stands twice in one object")) << twice.error().message;
}

TEST(JsonParseTest, TakesTextOfAMebibyte) {
  std::string body;
  while (body.size() < (1 << 20)) body += R"(word é \u00e9 \n 🐑 )";
  const std::string text = "[\"" + body + "\"]";
  const auto value = parse(text);
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(compact(text), text);
  const auto again = parse(dump(*value));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*again, *value);
}

// Strings are looked at in pieces: wherever something stands, the same is said of it.
TEST(JsonParseTest, EveryByteIsSeenWhereverItStands) {
  for (std::size_t length = 1; length <= 20; ++length) {
    for (std::size_t at = 0; at < length; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string body(length, 'x');
        body[at] = static_cast<char>(byte);
        const bool is_plain = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
        const std::string text = '"' + body + '"';
        const auto compacted = compact(text);
        ASSERT_EQ(compacted.has_value(), is_plain) << length << ' ' << at << ' ' << byte;
        EXPECT_EQ(compacted.value_or(text), text);
      }
    }
  }
}

TEST(JsonCompactTest, TakesOutWhiteSpaceAndNothingElse) {
  const struct {
    std::string_view text;
    std::string_view compacted;
  } rows[] = {
      {" null ", "null"},
      {"[ 1 , 2 ]", "[1,2]"},
      {"{ \"a b\" : \"c  d\" }", "{\"a b\":\"c  d\"}"},
      {"{\r\n\t\"a\"\n:\n[\n]\n}\n", "{\"a\":[]}"},
      {R"([ "\u0041\/\n" , 1.0E+02 , -0 ])", R"(["\u0041\/\n",1.0E+02,-0])"},
      {R"("\u0000")", R"("\u0000")"},
  };
  for (const auto& row : rows) EXPECT_EQ(compact(row.text), row.compacted);
}

TEST(JsonValueTest, FindsMembers) {
  const auto value = parse(R"({"a":1,"":2,"b":null})");
  ASSERT_TRUE(value.has_value());
  ASSERT_NE(value->find("a"), nullptr);
  EXPECT_EQ(value->find("a")->as_int(), 1);
  EXPECT_EQ(value->find("")->as_int(), 2);
  EXPECT_TRUE(value->find("b")->is_null());
  EXPECT_EQ(value->find("c"), nullptr);
  EXPECT_EQ(Value(Value::Array{}).find("a"), nullptr);
  EXPECT_EQ(Value("a").find("a"), nullptr);
}

TEST(JsonValueTest, ReadsWholeNumbersWithin64Bits) {
  const struct {
    std::string_view text;
    std::optional<std::int64_t> number;
  } rows[] = {
      {"0", 0},
      {"-0", 0},
      {"42", 42},
      {"-42", -42},
      {"9223372036854775807", INT64_MAX},
      {"-9223372036854775808", INT64_MIN},
      {"9223372036854775808", std::nullopt},
      {"-9223372036854775809", std::nullopt},
      {"1.0", std::nullopt},
      {"1e3", std::nullopt},
      {"\"1\"", std::nullopt},
      {"null", std::nullopt},
      {"true", std::nullopt},
  };
  for (const auto& row : rows) EXPECT_EQ(parse(row.text)->as_int(), row.number) << row.text;
}

TEST(JsonValueTest, NamesItsKind) {
  const struct {
    std::string_view text;
    std::string_view kind;
  } rows[] = {{"null", "null"},   {"true", "boolean"}, {"1", "number"},
              {"\"\"", "string"}, {"[]", "array"},     {"{}", "object"}};
  for (const auto& row : rows) EXPECT_EQ(parse(row.text)->kind_name(), row.kind);
}

}  // namespace
}  // namespace drover::json
