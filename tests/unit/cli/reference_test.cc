#include "cli/reference.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>

#include "cli/parse.h"
#include "support/temp_dir.h"

namespace drover::cli {
namespace {

TEST(ReferenceTest, ThePageInTheDocsIsTheOneThatTheProgramPrints) {
  std::ifstream in(DROVER_DOCS "/reference/cli.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(page, render_markdown(describe_command_line()))
      << "make it anew: build/release/drover help --format markdown > docs/reference/cli.md";
}

// Calls `visit` with the path of every command.
void for_each_path(const CommandSpec& command, std::vector<std::string>& path,
                   const std::function<void(const std::vector<std::string>&)>& visit) {
  visit(path);
  for (const CommandSpec& child : command.commands) {
    path.push_back(child.name);
    for_each_path(child, path, visit);
    path.pop_back();
  }
}

TEST(ReferenceTest, ManReadsEveryPageWithoutComplaint) {
  const CommandSpec root = describe_command_line();
  const test::TempDir dir;
  std::vector<std::string> path;
  for_each_path(root, path, [&](const std::vector<std::string>& at) {
    const std::string file = dir.file(fmt::format("drover{}.1", fmt::join(at, "-")));
    std::ofstream(file) << render_man_page(root, at);
    FILE* pipe = popen(fmt::format("groff -man -Tutf8 -ww -z {} 2>&1", file).c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string complaints(4096, '\0');
    complaints.resize(fread(complaints.data(), 1, complaints.size(), pipe));
    EXPECT_EQ(pclose(pipe), 0) << "./dev test installs groff";
    EXPECT_EQ(complaints, "") << fmt::format("{}", fmt::join(at, " "));
  });
}

TEST(ReferenceTest, AManPageSaysWhatHelpSays) {
  const std::string page = render_man_page(describe_command_line(), {"gate", "close"});
  EXPECT_TRUE(page.starts_with(".TH drover\\-gate\\-close 1 ")) << page;
  EXPECT_TRUE(page.contains("\\fBdrover gate close\\fR \\fIGATE\\fR [\\fIOPTIONS\\fR]")) << page;
  EXPECT_TRUE(page.contains(".TP\n\\fB\\-\\-for\\fR \\fID\\fR\nopen it again after this long\n")) << page;
}

}  // namespace
}  // namespace drover::cli
