#include "cli/live_view.h"

#include <gtest/gtest.h>

#include "captured_output.h"
#include "engine/open.h"
#include "support/must.h"
#include "support/printers.h"

namespace drover::cli {
namespace {

using test::must;

TEST(LiveViewTest, ShowsEventsAboveOneLineOfStanding) {
  const auto opened = must(open_queue("memory:"));
  TaskQueue& queue = opened->queue();
  CapturedOutput screen({.terminal = true, .color = false, .width = 120});
  TaskSpec spec;
  spec.type = "herd";
  const TaskId before = must(queue.enqueue_one(spec)).id;
  {
    LiveView view(queue, screen.output(), {{"herd", "herd"}}, must(queue.last_event_seq()));
    must(view.refresh());
    EXPECT_EQ(screen.take(), "0 running · 1 waiting · 0 blocked · since the start: 0 completed, 0 failed, 0 cancelled");
    must(view.refresh());
    EXPECT_EQ(screen.take(), "") << "nothing has changed";

    must(queue.cancel(before, "rain"));
    must(view.refresh());
    const std::string text = screen.take();
    EXPECT_TRUE(text.starts_with("\r\x1b[K")) << text;
    EXPECT_TRUE(text.contains("cancelled         herd              " + before.to_string() + "  reason=rain\n")) << text;
    EXPECT_TRUE(
        text.ends_with("\n0 running · 0 waiting · 0 blocked · since the start: 0 completed, 0 failed, 1 cancelled"))
        << text;
  }
  EXPECT_EQ(screen.take(), "\r\x1b[K") << "the line goes with the view";
}

}  // namespace
}  // namespace drover::cli
