#include "cli/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "support/must.h"

namespace drover::cli {
namespace {

using test::code_of;

TEST(ColorTest, FollowsTheConventions) {
  const struct {
    std::string_view name;
    ColorChoice choice;
    bool terminal;
    Variables environment;
    bool color;
  } rows[] = {
      {"terminal", ColorChoice::kAuto, true, {{"TERM", "xterm"}}, true},
      {"pipe", ColorChoice::kAuto, false, {{"TERM", "xterm"}}, false},
      {"dumb", ColorChoice::kAuto, true, {{"TERM", "dumb"}}, false},
      {"no TERM", ColorChoice::kAuto, true, {}, false},
      {"NO_COLOR", ColorChoice::kAuto, true, {{"TERM", "xterm"}, {"NO_COLOR", "1"}}, false},
      {"empty NO_COLOR", ColorChoice::kAuto, true, {{"TERM", "xterm"}, {"NO_COLOR", ""}}, true},
      {"forced", ColorChoice::kAuto, false, {{"CLICOLOR_FORCE", "1"}}, true},
      {"not forced", ColorChoice::kAuto, false, {{"CLICOLOR_FORCE", "0"}}, false},
      {"NO_COLOR wins", ColorChoice::kAuto, false, {{"CLICOLOR_FORCE", "1"}, {"NO_COLOR", "1"}}, false},
      {"always", ColorChoice::kAlways, false, {{"NO_COLOR", "1"}}, true},
      {"never", ColorChoice::kNever, true, {{"TERM", "xterm"}, {"CLICOLOR_FORCE", "1"}}, false},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(wants_color(row.choice, row.terminal, Environment(row.environment)), row.color) << row.name;
  }
}

TEST(LookTest, APipeIsNoTerminalAndTakesItsWidthFromColumns) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(look_of(ends[1], ColorChoice::kAuto, Environment(Variables{{"COLUMNS", "132"}})),
            (Look{false, false, 132}));
  EXPECT_EQ(look_of(ends[1], ColorChoice::kAuto, Environment(Variables{{"COLUMNS", "many"}})),
            (Look{false, false, 80}));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(OutputTest, AReaderThatWentAwayIsNoFailure) {
  const auto previous = std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  Output out(ends[1], {});
  out.line("read");
  EXPECT_TRUE(out.open());
  ::close(ends[0]);
  out.line("not read");
  EXPECT_FALSE(out.open());
  EXPECT_TRUE(out.result().has_value());
  ::close(ends[1]);
  std::signal(SIGPIPE, previous);
}

TEST(OutputTest, AFullDiskIsOne) {
  const int full = ::open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  Output out(full, {});
  out.line("lost");
  EXPECT_FALSE(out.open());
  EXPECT_EQ(code_of(out.result()), ErrorCode::kDiskFull);
  ::close(full);
}

}  // namespace
}  // namespace drover::cli
