#include "core/parent_template.h"

#include <gtest/gtest.h>

#include "support/must.h"

namespace drover {
namespace {

using test::code_of;

constexpr std::size_t kPlenty = 10'000;

Result<JsonText> lookup(std::string_view name) {
  if (name == "plan") return R"({"items":["a",{"name":"b"}],"n":1.50,"text":"say \"it\"","nothing":null})";
  if (name == "v1.2") return R"("dotted")";
  if (name == "sly") return R"("{{parents.plan.result.n}}")";
  return fail(ErrorCode::kInvalidPayload, "there is no such parent");
}

std::string filled(std::string_view text) {
  return test::must(fill_text(text, lookup, kPlenty));
}

std::string complaint(std::string_view text) {
  const auto result = fill_text(text, lookup, kPlenty);
  EXPECT_EQ(code_of(result), ErrorCode::kInvalidPayload);
  return result ? "" : result.error().message;
}

TEST(ParentTemplate, PutsInWhatThePathLeadsTo) {
  EXPECT_EQ(filled("n is {{parents.plan.result.n}}."), "n is 1.50.");
  EXPECT_EQ(filled("{{parents.plan.result.text}}"), "say \"it\"");
  EXPECT_EQ(filled("{{parents.plan.result.items.1.name}}{{parents.plan.result.items.0}}"), "ba");
  EXPECT_EQ(filled("{{parents.plan.result.items}}"), R"(["a",{"name":"b"}])");
  EXPECT_EQ(filled("{{parents.plan.result.nothing}}"), "null");
  EXPECT_EQ(filled("{{parents.v1.2.result}}"), "dotted");
}

TEST(ParentTemplate, LeavesOtherBracesAlone) {
  for (const char* text : {"", "{{ user }}", "{{parent.x}}", "{ {parents.plan.result} }", "}}", "{{"})
    EXPECT_EQ(filled(text), text);
}

TEST(ParentTemplate, NeverLooksTwice) {
  EXPECT_EQ(filled("{{parents.sly.result}}"), "{{parents.plan.result.n}}");
}

TEST(ParentTemplate, NamesWhatIsMissing) {
  EXPECT_EQ(complaint("a {{parents.plan.result.items.2}} b"),
            "\"{{parents.plan.result.items.2}}\": the result has no \"2\"");
  EXPECT_EQ(complaint("{{parents.plan.result.n.x}}"), "\"{{parents.plan.result.n.x}}\": the result has no \"x\"");
  EXPECT_EQ(complaint("{{parents.who.result}}"), "\"{{parents.who.result}}\": there is no such parent");
  EXPECT_EQ(complaint("{{parents.plan}}"),
            "\"{{parents.plan}}\": expected {{parents.REF.result}} or {{parents.REF.result.PATH}}");
  EXPECT_EQ(complaint("{{parents.plan.result"), "\"{{parents.plan.result\": it has no end: }} is missing");
}

TEST(ParentTemplate, FillsTheStringsOfADocument) {
  EXPECT_EQ(test::must(fill_json(R"({"b":["{{parents.plan.result.text}}",0.10],"{{parents.plan.result.n}}":true})",
                                 lookup, kPlenty)),
            R"({"b":["say \"it\"",0.10],"{{parents.plan.result.n}}":true})");
}

TEST(ParentTemplate, IsBounded) {
  EXPECT_EQ(code_of(fill_text("{{parents.plan.result}}{{parents.plan.result}}", lookup, 100)),
            ErrorCode::kInvalidPayload);
  EXPECT_EQ(code_of(fill_json(R"(["{{parents.plan.result}}","{{parents.plan.result}}"])", lookup, 100)),
            ErrorCode::kInvalidPayload);
}

}  // namespace
}  // namespace drover
