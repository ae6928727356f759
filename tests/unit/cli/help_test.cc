#include <gtest/gtest.h>

#include "cli/command_spec.h"
#include "cli/display_text.h"
#include "cli/parse.h"

namespace drover::cli {
namespace {

void for_each_page(const CommandSpec& root, const CommandSpec& command, std::vector<std::string>& path,
                   const std::function<void(const std::string&)>& visit) {
  visit(render_help(root, path, 80));
  for (const CommandSpec& child : command.commands) {
    path.push_back(child.name);
    for_each_page(root, child, path, visit);
    path.pop_back();
  }
}

TEST(HelpTest, ShowsWhatThereIs) {
  const CommandSpec root{.name = "drover",
                         .summary = "Keeps sheep.",
                         .commands = {{.name = "herd",
                                       .summary = "Herd them",
                                       .group = "Sheep",
                                       .footer = "Examples:\n  drover herd north",
                                       .positionals = {{"WHERE", "to which side", true}, {"HOW", "with what", false}},
                                       .flags = {{"--dog", "-d", "NAME", "who helps", true, false},
                                                 {"--store", "", "URL",
                                                  "where the sheep are kept when it is cold, "
                                                  "which it often is in these parts",
                                                  false, true}}}}};
  EXPECT_EQ(render_help(root, {}, 80),
            "Keeps sheep.\n\nUsage: drover COMMAND [OPTIONS]\n\nSheep:\n  herd  Herd them\n");
  EXPECT_EQ(render_help(root, {"herd"}, 60),
            "Herd them\n"
            "\n"
            "Usage: drover herd WHERE [HOW] [OPTIONS]\n"
            "\n"
            "Arguments:\n"
            "  WHERE  to which side\n"
            "  HOW    with what\n"
            "\n"
            "Options:\n"
            "  -d, --dog NAME ...  who helps\n"
            "\n"
            "Common options:\n"
            "      --store URL  where the sheep are kept when it is cold,\n"
            "                   which it often is in these parts\n"
            "\n"
            "Examples:\n"
            "  drover herd north\n");
}

TEST(HelpTest, EveryCommandHasExamplesAndExplainsItsFlags) {
  const CommandSpec root = describe_command_line();
  std::vector<std::string> path;
  int pages = 0;
  for_each_page(root, root, path, [&](const std::string& page) {
    ++pages;
    EXPECT_TRUE(page.contains("Examples:\n")) << page;
    EXPECT_TRUE(page.contains("--store URL")) << page;
    EXPECT_FALSE(page.contains(" \n")) << "a line ends with a space:\n" << page;
  });
  EXPECT_GT(pages, 20);
}

TEST(HelpTest, KnowsChoices) {
  EXPECT_EQ(choices_of("bash|zsh|fish"), (std::vector<std::string_view>{"bash", "zsh", "fish"}));
  EXPECT_TRUE(choices_of("FILE").empty());
  EXPECT_TRUE(choices_of("JSON|@FILE|-").empty());
  EXPECT_TRUE(choices_of("word").empty());
  EXPECT_TRUE(choices_of("").empty());
}

}  // namespace
}  // namespace drover::cli
