// src/server/openapi.yaml against the code that it describes. `./dev check api` compares it with what is answered.
#include "server/openapi.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <functional>
#include <set>

#include "base/json.h"
#include "drover/error.h"
#include "server/api.h"
#include "server/rights.h"
#include "support/must.h"

namespace drover::server {
namespace {

using test::must;

const json::Value& document() {
  static const json::Value parsed = must(json::parse(openapi_json()));
  return parsed;
}

// What stands at "#/components/schemas/Task"; null if nothing does.
const json::Value* resolve(std::string_view reference) {
  const json::Value* at = &document();
  for (reference.remove_prefix(1); at != nullptr && !reference.empty();) {
    reference.remove_prefix(1);
    const std::size_t slash = reference.find('/');
    at = at->find(reference.substr(0, slash));
    reference = slash == std::string_view::npos ? std::string_view() : reference.substr(slash);
  }
  return at;
}

std::set<std::string> texts_of(const json::Value& array) {
  std::set<std::string> texts;
  for (const json::Value& item : *array.as_array()) texts.insert(*item.as_string());
  return texts;
}

std::set<std::string> enum_of(const std::string& schema) {
  return texts_of(*resolve("#/components/schemas/" + schema)->find("enum"));
}

template <class Enum>
std::set<std::string> names_of(int count) {
  std::set<std::string> names;
  for (int i = 0; i < count; ++i) names.emplace(name_of(static_cast<Enum>(i)));
  return names;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

using Visit = std::function<void(const std::string& name, const json::Value& operation)>;

void each_operation(const Visit& visit) {
  static const std::set<std::string> kMethods{"get", "put", "post", "delete", "patch"};
  for (const auto& [pattern, path] : *document().find("paths")->as_object()) {
    for (const auto& [method, operation] : *path.as_object()) {
      if (kMethods.contains(method)) visit(fmt::format("{} {}", upper(method), pattern), operation);
    }
  }
}

void each_reference(const json::Value& value, const std::function<void(const std::string&)>& visit) {
  if (const json::Value::Array* items = value.as_array()) {
    for (const json::Value& item : *items) each_reference(item, visit);
  }
  if (const json::Value::Object* members = value.as_object()) {
    for (const auto& [name, member] : *members) {
      if (name == "$ref" && member.as_string() != nullptr) visit(*member.as_string());
      each_reference(member, visit);
    }
  }
}

TEST(OpenApi, DescribesTheRoutesAndNoOthers) {
  std::set<std::string> described;
  each_operation([&](const std::string& name, const json::Value&) { described.insert(name); });
  std::set<std::string> known;
  for (const Route& route : routes()) known.insert(fmt::format("{} {}", route.method, route.pattern));
  EXPECT_EQ(described, known);
}

TEST(OpenApi, KeepsWhatLooksLikeANumberAndIsNone) {
  EXPECT_EQ(*document().find("openapi")->as_string(), "3.1.0");
  EXPECT_EQ(*document().find("info")->find("version")->as_string(), "1");
  EXPECT_EQ(resolve("#/components/schemas/Problem/properties/status/maximum")->as_int(), 599);
}

TEST(OpenApi, EveryReferenceLeadsSomewhere) {
  each_reference(document(), [](const std::string& reference) { EXPECT_NE(resolve(reference), nullptr) << reference; });
}

TEST(OpenApi, EveryOperationIsTold) {
  std::set<std::string> ids;
  each_operation([&](const std::string& name, const json::Value& operation) {
    for (const char* member : {"operationId", "summary", "responses", "x-roles"}) {
      EXPECT_NE(operation.find(member), nullptr) << name << " has no " << member;
    }
    EXPECT_TRUE(ids.insert(*operation.find("operationId")->as_string()).second) << name;
  });
}

// A caller without a token is told so wherever one is needed, and nowhere else.
TEST(OpenApi, SaysWhereNoTokenIsNeeded) {
  std::set<std::string> open;
  for (const Route& route : routes()) {
    if (route.access == Access::kAnyone) open.insert(fmt::format("{} {}", route.method, route.pattern));
  }
  each_operation([&](const std::string& name, const json::Value& operation) {
    EXPECT_EQ(operation.find("security") != nullptr, open.contains(name)) << name;
    // Whoever signs in needs a code instead, which may be wrong.
    const bool may_be_unknown = !open.contains(name) || name == "POST /v1/signins";
    EXPECT_EQ(operation.find("responses")->find("401") != nullptr, may_be_unknown) << name;
  });
}

TEST(OpenApi, KnowsTheNamesThatTheCodeKnows) {
  EXPECT_EQ(enum_of("Right"), names_of<Right>(static_cast<int>(kAllRights.size())));
  EXPECT_EQ(enum_of("TaskState"), names_of<TaskState>(kTaskStateCount));
  EXPECT_EQ(enum_of("ErrorClass"), names_of<ErrorClass>(kErrorClassCount));
  std::set<std::string> codes;
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); ++i) {
    codes.emplace(error_info(static_cast<ErrorCode>(i)).name);
  }
  EXPECT_EQ(enum_of("ErrorCode"), codes);
}

// The codes that stand at a status are those of the table, which is what handlers answer with.
TEST(OpenApi, ErrorsHaveTheStatusOfTheTable) {
  for (const auto& [name, response] : *resolve("#/components/responses")->as_object()) {
    const json::Value* problem = response.find("content")->find("application/problem+json");
    if (problem == nullptr) continue;
    const json::Value* properties = problem->find("schema")->find("allOf")->as_array()->back().find("properties");
    const auto status = properties->find("status")->find("const")->as_int();
    const json::Value* codes = properties->find("code")->find("enum");
    if (codes == nullptr) continue;
    for (const std::string& code : texts_of(*codes)) {
      const auto known = error_code_from_name(code);
      ASSERT_TRUE(known) << name << " " << code;
      // A body that is too large is refused before anybody knows what it is.
      if (status == 413 && *known == ErrorCode::kInvalidArgument) continue;
      EXPECT_EQ(error_info(*known).http_status, status) << name << " " << code;
    }
  }
}

TEST(OpenApi, TheReferenceHasTheSameRoutes) {
  std::set<std::string> described;
  each_operation([&](const std::string& name, const json::Value& operation) {
    std::string roles;
    for (const json::Value& role : *operation.find("x-roles")->as_array()) {
      roles += (roles.empty() ? "" : ", ") + *role.as_string();
    }
    described.insert(fmt::format("| `{}` | {} | {} |", name, *operation.find("summary")->as_string(),
                                 roles.empty() ? "anyone" : roles));
  });
  std::set<std::string> written;
  std::ifstream page(DROVER_DOCS "/reference/rest.md");
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| `")) written.insert(line);
  }
  EXPECT_EQ(written, described);
}

}  // namespace
}  // namespace drover::server
