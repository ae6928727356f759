#include "core/trace.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace drover {
namespace {

constexpr std::string_view kTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST(TraceTest, KnowsATraceparent) {
  EXPECT_TRUE(is_traceparent(kTrace));
  EXPECT_TRUE(is_traceparent("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"));
}

TEST(TraceTest, KnowsWhatIsNone) {
  for (const std::string_view text : {
           "",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-012",
           "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331_01",
           "0x-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
           "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
           "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
           "00-00000000000000000000000000000000-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333g-01",
           "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g",
       }) {
    EXPECT_FALSE(is_traceparent(text)) << text;
  }
}

TEST(TraceTest, TasksThatNameNoTraceContinueTheEnqueuers) {
  std::array<TaskSpec, 2> tasks{TaskSpec{.type = "a"}, TaskSpec{.type = "b", .traceparent = "its own"}};
  continue_trace("no trace", tasks);
  EXPECT_EQ(tasks[0].traceparent, std::nullopt);
  continue_trace(kTrace, tasks);
  EXPECT_EQ(tasks[0].traceparent, kTrace);
  EXPECT_EQ(tasks[1].traceparent, "its own");
}

}  // namespace
}  // namespace drover
