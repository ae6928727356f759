#include "cli/table.h"

#include <gtest/gtest.h>

namespace drover::cli {
namespace {

Table sheep() {
  Table table({{"ID"}, {"TYPE", Fit::kElastic}, {"OWNER", Fit::kHidden}, {"AGE"}, {"NOTE", Fit::kRest}});
  table.add({Cell("id-1"), Cell("herd"), Cell("ada"), Cell("3s", "2026-11-15T19:50:37.123Z"), Cell("all quiet")});
  table.add({Cell("id-2"), Cell("羊飼い"), Cell("bob\tthe second"), Cell("12m", "2026-11-15T19:38:37.123Z"),
             Cell("two\nlines and a rather long tale of the wolf that came by night and went without a sheep")});
  return table;
}

Look terminal(int width) {
  return {.terminal = true, .color = false, .width = width};
}

TEST(TableTest, FitsWide) {
  EXPECT_EQ(
      sheep().render(terminal(120)),
      "ID    TYPE    AGE  NOTE\n"
      "id-1  herd    3s   all quiet\n"
      "id-2  羊飼い  12m  two lines and a rather long tale of the wolf that came by night and went without a sheep\n");
}

TEST(TableTest, WideShowsEveryColumnUncutWhoeverReads) {
  const std::string wide =
      "ID    TYPE    OWNER           AGE  NOTE\n"
      "id-1  herd    ada             3s   all quiet\n"
      "id-2  羊飼い  bob the second  12m  two lines and a rather long tale of the wolf that came by night and went "
      "without a sheep\n";
  EXPECT_EQ(sheep().render_wide(terminal(24)), wide);
  EXPECT_EQ(sheep().render_wide({.terminal = false, .color = false, .width = 80}), wide);
}

TEST(TableTest, CutsTheRestAt80) {
  EXPECT_EQ(sheep().render(terminal(80)),
            "ID    TYPE    AGE  NOTE\n"
            "id-1  herd    3s   all quiet\n"
            "id-2  羊飼い  12m  two lines and a rather long tale of the wolf that came by ni…\n");
}

TEST(TableTest, DropsTheRestWhenNextToNothingIsLeft) {
  EXPECT_EQ(sheep().render(terminal(24)),
            "ID    TYPE    AGE\n"
            "id-1  herd    3s\n"
            "id-2  羊飼い  12m\n");
}

TEST(TableTest, SpareColumnsAreThereIfThereIsRoom) {
  Table table({{"ID"}, {"QUEUE", Fit::kSpare}, {"OWNER", Fit::kSpare}, {"NOTE", Fit::kRest}});
  table.add({Cell("id-1"), Cell("wool"), Cell("ada"), Cell(std::string(60, 'x'))});
  EXPECT_TRUE(table.render(terminal(60)).starts_with("ID    QUEUE  OWNER  NOTE\nid-1  wool   ada    xxx"));
  EXPECT_TRUE(table.render(terminal(59)).starts_with("ID    QUEUE  NOTE\nid-1  wool   xxx"));
  EXPECT_TRUE(table.render(terminal(52)).starts_with("ID    NOTE\nid-1  xxx"));
  EXPECT_TRUE(table.render({.terminal = false, .color = false, .width = 10}).starts_with("id-1\twool\tada\txxx"));
}

TEST(TableTest, ElasticColumnsMakeRoomForTheRestIfItSaysSomething) {
  for (const std::string note : {"the wolf", ""}) {
    Table table({{"ID"}, {"WORKER", Fit::kElastic}, {"ERROR", Fit::kRest}});
    table.add({Cell("id-1"), Cell("box:4711:01920f5e-7a3c"), Cell(note)});
    EXPECT_EQ(table.render(terminal(32)), note.empty() ? "ID    WORKER\n"
                                                         "id-1  box:4711:01920f5e-7a3c\n"
                                                       : "ID    WORKER            ERROR\n"
                                                         "id-1  box:4711:01920f…  the wolf\n");
  }
}

TEST(TableTest, ElasticColumnsGoWhenTheNarrowestIsTooWide) {
  Table table({{"QUEUE"}, {"WAIT P50/P95", Fit::kElastic}, {"RUN P50/P95", Fit::kElastic}});
  table.add({Cell("review-queue"), Cell("340ms / 2s"), Cell("4s / 9s")});
  EXPECT_EQ(table.render(terminal(26)),
            "QUEUE         WAIT P50/P95\n"
            "review-queue  340ms / 2s\n");
}

TEST(TableTest, ElasticColumnsGiveWayAndIdsDoNot) {
  Table table({{"ID"}, {"TYPE", Fit::kElastic}, {"AGE"}});
  table.add({Cell("01920f5e-7a3c-7def-8123-456789abcdef"), Cell("a-type-with-a-very-long-name-indeed"), Cell("3s")});
  EXPECT_EQ(table.render(terminal(60)),
            "ID                                    TYPE               AGE\n"
            "01920f5e-7a3c-7def-8123-456789abcdef  a-type-with-a-ve…  3s\n");
  EXPECT_EQ(table.render(terminal(40)),
            "ID                                    TYPE    AGE\n"
            "01920f5e-7a3c-7def-8123-456789abcdef  a-typ…  3s\n");
}

TEST(TableTest, IsTabSeparatedForPrograms) {
  EXPECT_EQ(sheep().render({.terminal = false}),
            "id-1\therd\tada\t2026-11-15T19:50:37.123Z\tall quiet\n"
            "id-2\t羊飼い\tbob\\tthe second\t2026-11-15T19:38:37.123Z\t"
            "two\\nlines and a rather long tale of the wolf that came by night and went without a sheep\n");
}

TEST(TableTest, PaintsWithoutDisturbingTheColumns) {
  Table table({{"STATE"}, {"AGE"}});
  table.add({Cell("failed", Paint::kRed), Cell("3s")});
  table.add({Cell("completed", Paint::kGreen), Cell("4s")});
  EXPECT_EQ(table.render({.terminal = true, .color = true, .width = 80}),
            "\x1b[1mSTATE\x1b[0m      \x1b[1mAGE\x1b[0m\n"
            "\x1b[31mfailed\x1b[0m     3s\n"
            "\x1b[32mcompleted\x1b[0m  4s\n");
}

}  // namespace
}  // namespace drover::cli
