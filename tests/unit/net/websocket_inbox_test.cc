#include "net/websocket_inbox.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

constexpr WebSocketMask kClientMask{1, 2, 3, 4};
constexpr std::size_t kMessageMax = 1'000;

std::string ping_of(std::string_view payload) {
  return format_frame(WebSocketKind::kPing, payload, kClientMask);
}

TEST(WebSocketInbox, OfPingsTheLatestIsAnswered) {
  WebSocketInbox inbox(kMessageMax);
  inbox.feed(ping_of("one") + format_frame(WebSocketKind::kText, "hello", kClientMask) + ping_of("two"));
  EXPECT_EQ(inbox.next().value()->payload, "hello");
  EXPECT_FALSE(inbox.next().value());
  EXPECT_EQ(inbox.take_pong(), format_frame(WebSocketKind::kPong, "two"));
  EXPECT_FALSE(inbox.take_pong());
}

TEST(WebSocketInbox, HoldsOneOfManyPings) {
  WebSocketInbox inbox(kMessageMax);
  const std::string frame = ping_of(std::string(125, 'p'));
  for (int i = 0; i < 100'000; ++i) {
    inbox.feed(frame);
    ASSERT_TRUE(inbox.next());
    ASSERT_LE(inbox.held(), 125U);
  }
}

TEST(WebSocketInbox, HoldsNothingAfterAClose) {
  WebSocketInbox inbox(kMessageMax);
  inbox.feed(format_frame(WebSocketKind::kClose, "", kClientMask));
  EXPECT_EQ(inbox.next().value()->kind, WebSocketKind::kClose);
  for (int i = 0; i < 1'000; ++i) {
    inbox.feed(ping_of(std::string(125, 'p')));
    EXPECT_FALSE(inbox.next().value());
  }
  EXPECT_EQ(inbox.held(), 0U);
}

}  // namespace
}  // namespace drover
