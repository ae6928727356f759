#include <gtest/gtest.h>

#include "cli/display_text.h"
#include "cli/top/picture.h"
#include "cli/top/screen.h"

namespace drover::cli {
namespace {

using Keys = std::vector<Key>;

Key key(KeyKind kind) {
  return {.kind = kind, .text = {}};
}
Key text(std::string_view character) {
  return {.kind = KeyKind::kText, .text = std::string(character)};
}

TEST(TopKeysTest, ReadsLettersArrowsAndWideCharacters) {
  EXPECT_EQ(parse_keys("jé"), (Keys{text("j"), text("é")}));
  EXPECT_EQ(parse_keys("\x1b[A\x1b[B\x1bOA\x1bOB"),
            (Keys{key(KeyKind::kUp), key(KeyKind::kDown), key(KeyKind::kUp), key(KeyKind::kDown)}));
  EXPECT_EQ(parse_keys("\t\x1b[Z\r\x7f"),
            (Keys{key(KeyKind::kTab), key(KeyKind::kBackTab), key(KeyKind::kEnter), key(KeyKind::kBackspace)}));
}

TEST(TopKeysTest, AnEscapeByItselfIsAKeyAndOtherSequencesAreNone) {
  EXPECT_EQ(parse_keys("\x1b"), Keys{key(KeyKind::kEscape)});
  EXPECT_EQ(parse_keys("\x1b[1;5Cx"), Keys{text("x")});
  EXPECT_EQ(parse_keys("\x1b["), Keys{});
  EXPECT_EQ(parse_keys("\xe2"), Keys{text("\xe2")});
  EXPECT_EQ(parse_keys(std::string_view("\0\x01", 2)), Keys{});
}

TEST(TopPictureTest, BarsAndSparklines) {
  EXPECT_EQ(progress_bar(0, 4), "░░░░");
  EXPECT_EQ(progress_bar(50, 4), "██░░");
  EXPECT_EQ(progress_bar(100, 4), "████");
  EXPECT_EQ(sparkline({}, 5), "");
  EXPECT_EQ(sparkline({0, 0}, 5), "▁▁");
  EXPECT_EQ(sparkline({1, 2, 0, 7}, 3), "▃▁█");
}

TopData some_data() {
  TopData data{.store = "sqlite:q.db"};
  data.stats.at = Time(Millis{1'000'000});
  data.stats.window = Millis{60'000};
  for (const auto& [name, waiting] : {std::pair("alpha", 1), std::pair("beta", 5)}) {
    QueueStats queue{.name = name};
    queue.tasks[static_cast<std::size_t>(TaskState::kPending)] = waiting;
    data.stats.queues.push_back(queue);
  }
  for (int i = 0; i < 50; ++i) {
    Task task;
    task.type = "type" + std::to_string(i);
    task.started_at = Time(Millis{i});
    data.running.push_back(task);
  }
  return data;
}

const Look kLook{.terminal = true, .color = false, .width = 100};

TEST(TopPictureTest, AScreenHasExactlyItsLinesAndNoneIsTooWide) {
  for (const int height : {1, 5, 24, 80}) {
    for (const int width : {20, 80, 200}) {
      const auto lines = draw(some_data(), {}, {.terminal = true, .color = false, .width = width}, height);
      EXPECT_EQ(lines.size(), static_cast<std::size_t>(height));
      for (std::string line : lines) {
        for (const std::string_view mark : {"\x1b[7m", "\x1b[0m"}) {
          if (const std::size_t found = line.find(mark); found != std::string::npos) line.erase(found, mark.size());
        }
        EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << line;
      }
    }
  }
}

TEST(TopPictureTest, SortsAndFilters) {
  TopView view;
  EXPECT_EQ(make_panel(some_data(), view, Panel::kQueues, kLook).rows.at(0).id, "alpha");
  view.sort[0] = 1;
  EXPECT_EQ(make_panel(some_data(), view, Panel::kQueues, kLook).rows.at(0).id, "beta");
  view.filter = "alp";
  ASSERT_EQ(make_panel(some_data(), view, Panel::kQueues, kLook).rows.size(), 1U);
  EXPECT_EQ(make_panel(some_data(), view, Panel::kQueues, kLook).rows.at(0).id, "alpha");
}

TEST(TopPictureTest, TheChosenLineIsOnTheScreen) {
  TopView view{.panel = Panel::kRunning};
  view.selected[1] = 49;
  std::string screen;
  for (const std::string& line : draw(some_data(), view, kLook, 24)) screen += line + "\n";
  EXPECT_NE(screen.find("\x1b[7m"), std::string::npos);
  EXPECT_NE(screen.find("type49"), std::string::npos) << screen;
  EXPECT_EQ(screen.find("type0 "), std::string::npos) << screen;
}

}  // namespace
}  // namespace drover::cli
