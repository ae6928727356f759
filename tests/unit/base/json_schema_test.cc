#include "base/json_schema.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/rng.h"

namespace drover::json {
namespace {

Value value_of(std::string_view text) {
  auto value = parse(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value.value_or(Value());
}

Schema compiled(std::string_view text) {
  auto schema = Schema::compile(value_of(text));
  if (!schema) {
    ADD_FAILURE() << text << ": " << schema.error().what;
    return *Schema::compile(true);
  }
  return *schema;
}

// The complaint about a value, empty if it is valid.
std::string complaint(const Schema& schema, std::string_view value) {
  const auto error = schema.validate(value_of(value));
  return error ? to_string(*error) : "";
}

// "/path/to/it: what", empty if the schema is good.
std::string problem(std::string_view text) {
  const auto schema = Schema::compile(value_of(text));
  if (schema) return "";
  return fmt::format("/{}: {}", fmt::join(schema.error().path, "/"), schema.error().what);
}

struct Row {
  std::string_view value;
  std::string_view complaint;  // empty: valid
};

void expect_rows(std::string_view schema, std::initializer_list<Row> rows) {
  const Schema compiled_schema = compiled(schema);
  for (const Row& row : rows)
    EXPECT_EQ(complaint(compiled_schema, row.value), row.complaint) << schema << " " << row.value;
}

TEST(JsonSchemaTest, Type) {
  expect_rows(R"({"type":"string"})", {{R"("a")", ""}, {"1", "expected string, found number"}});
  expect_rows(R"({"type":["object","null"]})",
              {{"{}", ""}, {"null", ""}, {"[]", "expected object or null, found array"}});
  expect_rows(R"({"type":"integer"})", {{"3", ""},
                                        {"3.0", ""},
                                        {"30e-1", ""},
                                        {"1e400", ""},
                                        {"123456789012345678901234567890", ""},
                                        {"3.5", "expected integer, found number with a fraction"},
                                        {"1e-400", "expected integer, found number with a fraction"},
                                        {"true", "expected integer, found boolean"}});
  expect_rows(R"({"type":"number"})", {{"3", ""}, {"0.10", ""}, {R"("3")", "expected number, found string"}});
  expect_rows("true", {{"1", ""}});
  expect_rows("false", {{"1", "is not allowed"}});
}

TEST(JsonSchemaTest, EnumAndConst) {
  expect_rows(R"({"enum":["a",1,null,{"x":1,"y":2}]})",
              {{R"("a")", ""},
               {"1.0", ""},
               {"10e-1", ""},
               {"null", ""},
               {R"({"y":2,"x":1})", ""},
               {"2", R"(expected one of "a", 1, null, {"x":1,"y":2}, found 2)"}});
  expect_rows(
      R"({"const":0.10})",
      {{"0.1", ""}, {"1e-1", ""}, {"0.10000000000000000000001", "expected 1e-1, found 10000000000000000000001e-23"}});
  expect_rows(R"({"const":9007199254740993})",
              {{"9007199254740993", ""}, {"9007199254740992", "expected 9007199254740993, found 9007199254740992"}});
}

TEST(JsonSchemaTest, Objects) {
  expect_rows(
      R"({"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false})",
      {{R"({"name":"x"})", ""},
       {"{}", R"("name" is missing)"},
       {R"({"name":1})", "/name: expected string, found number"},
       {R"({"name":"x","age":1})", "/age: is not allowed"}});
  expect_rows(R"({"additionalProperties":{"type":"number"}})",
              {{R"({"a":1})", ""}, {R"({"a":1,"b":"x"})", "/b: expected number, found string"}, {"[1]", ""}});
  expect_rows(R"({"properties":{"a/b":{"properties":{"c~d":{"type":"null"}}}}})",
              {{R"({"a/b":{"c~d":1}})", "/a~1b/c~0d: expected null, found number"}});
}

TEST(JsonSchemaTest, Arrays) {
  expect_rows(R"({"properties":{"files":{"items":{"properties":{"name":{"type":"string"}}}}}})",
              {{R"({"files":[{},{},{},{"name":3}]})", "/files/3/name: expected string, found number"}});
  expect_rows(R"({"prefixItems":[{"type":"string"},{"type":"number"}],"items":{"type":"null"}})",
              {{R"(["a",1,null,null])", ""},
               {R"(["a"])", ""},
               {R"([1])", "/0: expected string, found number"},
               {R"(["a",1,2])", "/2: expected null, found number"}});
  expect_rows(R"({"minItems":1,"maxItems":2})", {{"[1]", ""},
                                                 {"[]", "has 0 items; at least 1 are needed"},
                                                 {"[1,2,3]", "has 3 items; at most 2 are allowed"},
                                                 {"{}", ""}});
  expect_rows(R"({"uniqueItems":true})", {{"[1,2]", ""},
                                          {"[1,2,1.0]", "items 0 and 2 are equal"},
                                          {R"([{"a":1,"b":2},{"b":2,"a":1}])", "items 0 and 1 are equal"}});
  expect_rows(R"({"uniqueItems":false})", {{"[1,1]", ""}});
}

TEST(JsonSchemaTest, Strings) {
  expect_rows(R"({"minLength":2,"maxLength":3})", {{R"("🐑é")", ""},
                                                   {R"("🐑")", "has 1 character; at least 2 are needed"},
                                                   {R"("abcd")", "has 4 characters; at most 3 are allowed"},
                                                   {"1", ""}});
  expect_rows(R"({"pattern":"^[a-z]+$"})",
              {{R"("abc")", ""}, {R"("a1")", R"("a1" does not match the pattern ^[a-z]+$)"}});
  expect_rows(R"({"pattern":"b"})", {{R"("abc")", ""}});
}

TEST(JsonSchemaTest, Numbers) {
  expect_rows(R"({"minimum":1,"maximum":10})",
              {{"1", ""},
               {"10.0", ""},
               {"0.99999999999999999999999", "expected a number of at least 1, found 0.99999999999999999999999"},
               {"1e400", "expected a number of at most 1e1, found 1e400"},
               {R"("x")", ""}});
  expect_rows(R"({"exclusiveMinimum":1,"exclusiveMaximum":10})", {{"1.00000000000000000001", ""},
                                                                  {"1.0", "expected a number above 1, found 1.0"},
                                                                  {"10", "expected a number below 1e1, found 10"}});
  expect_rows(R"({"multipleOf":0.01})",
              {{"0.10", ""}, {"19.99", ""}, {"0.105", "expected a number that is a multiple of 1e-2, found 0.105"}});
}

TEST(JsonSchemaTest, Combinations) {
  expect_rows(R"({"anyOf":[{"type":"string"},{"minimum":5}]})",
              {{R"("a")", ""}, {"7", ""}, {"3", "matches none of 2 alternatives"}});
  expect_rows(R"({"anyOf":[{"properties":{"a":{"type":"string"}}}]})",
              {{R"({"a":1})", "/a: expected string, found number"}});
  expect_rows(R"({"oneOf":[{"multipleOf":3},{"multipleOf":5}]})",
              {{"9", ""},
               {"15", "matches 2 of 2 alternatives; exactly one is allowed"},
               {"7", "matches none of 2 alternatives"}});
  expect_rows(R"({"allOf":[{"minimum":3},{"maximum":5}]})",
              {{"4", ""}, {"6", "expected a number of at most 5, found 6"}});
  expect_rows(R"({"not":{"type":"null"}})", {{"1", ""}, {"null", "matches a schema that it must not match"}});
}

TEST(JsonSchemaTest, References) {
  expect_rows(R"({"$defs":{"name":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/name"}}})",
              {{R"({"a":"x"})", ""}, {R"({"a":1})", "/a: expected string, found number"}});
  // A tree: the value bounds the recursion.
  expect_rows(R"({"type":"object","properties":{"next":{"$ref":"#"}},"additionalProperties":false})",
              {{R"({"next":{"next":{}}})", ""}, {R"({"next":{"next":{"x":1}}})", "/next/next/x: is not allowed"}});
}

TEST(JsonSchemaTest, WhatSaysNothingIsTaken) {
  expect_rows(R"({"$schema":"s","$id":"i","$comment":"c","title":"t","description":"d","default":1,"examples":[1]})",
              {{"null", ""}});
}

TEST(JsonSchemaTest, BadSchemasAreRefusedWithTheirPlace) {
  const std::initializer_list<std::pair<std::string_view, std::string_view>> rows{
      {R"({"properties":{"a":{"tpye":"string"}}})",
       R"(/properties/a/tpye: unknown keyword "tpye" (did you mean "type"?))"},
      {R"({"patternProperties":{}})", R"(/patternProperties: unknown keyword "patternProperties")"},
      {R"({"format":"date"})", R"(/format: unknown keyword "format")"},
      {R"({"type":"text"})", "/type: expected null, boolean, integer, number, string, array or object"},
      {R"({"type":[]})", "/type: expected a type or a list of types"},
      {R"({"items":3})", "/items: expected a schema (a mapping, true or false), found number"},
      {R"({"anyOf":[]})", "/anyOf: expected a list of schemas"},
      {R"({"anyOf":[true,{"minimum":"x"}]})", "/anyOf/1/minimum: expected a number"},
      {R"({"enum":[]})", "/enum: expected a list of values"},
      {R"({"required":"a"})", "/required: expected a list of names"},
      {R"({"minItems":-1})", "/minItems: expected a whole number, 0 or more"},
      {R"({"uniqueItems":1})", "/uniqueItems: expected true or false"},
      {R"({"multipleOf":0})", "/multipleOf: expected a number above 0 of at most 18 digits"},
      {R"({"pattern":"("})", "/pattern: no regular expression: missing ): ("},
      {R"({"$ref":"other.json"})", R"(/$ref: "other.json" is nothing in this schema; expected "#" or "#/$defs/NAME")"},
      {R"({"$ref":"#/$defs/a"})", R"(/$ref: "#/$defs/a" is nothing in this schema; expected "#" or "#/$defs/NAME")"},
      {R"({"items":{"$defs":{}}})", "/items/$defs: definitions stand at the top of a schema only"},
      {R"({"$ref":"#"})", "/: this schema refers to itself without going into the value"},
      {R"({"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}})",
       "/$defs/a: this schema refers to itself without going into the value"},
  };
  for (const auto& [schema, what] : rows) EXPECT_EQ(problem(schema), what) << schema;
}

TEST(JsonSchemaTest, WorkIsBounded) {
  // Thirty levels of two alternatives each: 2^30 ways to say no.
  std::string defs;
  for (int i = 0; i < 30; ++i) {
    defs += fmt::format(R"("d{0}":{{"anyOf":[{{"$ref":"#/$defs/d{1}"}},{{"$ref":"#/$defs/d{1}"}}]}},)", i, i + 1);
  }
  const Schema bomb = compiled(R"({"$ref":"#/$defs/d0","$defs":{)" + defs + R"("d30":false}})");
  EXPECT_EQ(complaint(bomb, "1"), "takes too much work to check against its schema");
  const Schema negated = compiled(R"({"not":{"$ref":"#/$defs/d0"},"$defs":{)" + defs + R"("d30":false}})");
  EXPECT_EQ(complaint(negated, "1"), "takes too much work to check against its schema");
}

TEST(JsonSchemaTest, LongNamesAreCutInComplaints) {
  const Schema schema = compiled(R"({"additionalProperties":false})");
  const std::string text = complaint(schema, R"({")" + std::string(100'000, 'x') + R"(":1})");
  EXPECT_LT(text.size(), 400u);
}

// Random values, and the schema that describes each exactly: it takes its own value, and refuses it once a leaf has
// another type.
class Example {
 public:
  explicit Example(std::uint64_t seed) : rng_(seed) { std::tie(value_, schema_) = make(0); }

  [[nodiscard]] const std::string& value() const { return value_; }
  [[nodiscard]] const std::string& schema() const { return schema_; }

 private:
  std::pair<std::string, std::string> make(int depth) {
    switch (rng_.below(depth < 5 ? 6 : 4)) {
      case 0:
        return {"null", R"({"type":"null"})"};
      case 1:
        return {"true", R"({"type":"boolean","const":true})"};
      case 2: {
        const std::string number = fmt::format("{}.{:03}", rng_.below(1'000), rng_.below(1'000));
        return {number, fmt::format(R"({{"type":"number","minimum":{0},"maximum":{0}0,"multipleOf":0.001}})", number)};
      }
      case 3:
        return {R"("shéep")", R"({"type":"string","minLength":5,"maxLength":5,"pattern":"^sh"})"};
      case 4:
        return array(depth);
      default:
        return object(depth);
    }
  }

  std::pair<std::string, std::string> array(int depth) {
    std::vector<std::string> values;
    std::vector<std::string> schemas;
    for (std::uint64_t left = 1 + rng_.below(3); left > 0; --left) {
      auto [value, schema] = make(depth + 1);
      values.push_back(value);
      schemas.push_back(schema);
    }
    return {fmt::format("[{}]", fmt::join(values, ",")),
            fmt::format(R"({{"type":"array","prefixItems":[{}],"items":false,"minItems":{}}})", fmt::join(schemas, ","),
                        values.size())};
  }

  std::pair<std::string, std::string> object(int depth) {
    std::string values;
    std::string schemas;
    std::string names;
    for (std::uint64_t left = 1 + rng_.below(3); left > 0; --left) {
      const auto [value, schema] = make(depth + 1);
      const std::string_view comma = values.empty() ? "" : ",";
      values += fmt::format(R"({}"k{}":{})", comma, left, value);
      schemas += fmt::format(R"({}"k{}":{})", comma, left, schema);
      names += fmt::format(R"({}"k{}")", comma, left);
    }
    return {"{" + values + "}",
            fmt::format(R"({{"type":"object","properties":{{{}}},"required":[{}],"additionalProperties":false}})",
                        schemas, names)};
  }

  SeededRng rng_;
  std::string value_;
  std::string schema_;
};

TEST(JsonSchemaPropertyTest, AnExactSchemaTakesItsValueAndNoOther) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Example one(seed);
    const Schema schema = compiled(one.schema());
    ASSERT_EQ(complaint(schema, one.value()), "") << one.value();
    ASSERT_EQ(compiled(schema.text()), schema);
    const Example other(seed + 1'000);
    const bool same = meaning_of(value_of(one.value())) == meaning_of(value_of(other.value()));
    ASSERT_EQ(complaint(schema, other.value()).empty(), same) << one.value() << " " << other.value();
    const Schema either = compiled(fmt::format(R"({{"anyOf":[{},{}]}})", one.schema(), other.schema()));
    ASSERT_EQ(complaint(either, other.value()), "");
    const Schema neither = compiled(fmt::format(R"({{"not":{}}})", one.schema()));
    ASSERT_NE(complaint(neither, one.value()), "");
  }
}

// Any document is a schema or is refused; any value then has an answer.
TEST(JsonSchemaPropertyTest, DamagedSchemasNeverCrash) {
  std::size_t refused = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRng rng(seed);
    const Example example(seed);
    std::string text = example.schema();
    text[rng.below(text.size())] = "{}[]\":,01ae$"[rng.below(12)];
    const auto document = parse(text);
    if (!document) continue;
    const auto schema = Schema::compile(*document);
    refused += schema ? 0 : 1;
    if (schema) (void)schema->validate(value_of(example.value()));
  }
  EXPECT_GT(refused, 20u);
}

}  // namespace
}  // namespace drover::json
