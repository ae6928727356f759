#include "net/websocket.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"

namespace drover {
namespace {

using Kind = WebSocketKind;
using Peer = WebSocketPeer;
using Messages = std::vector<WebSocketMessage>;

constexpr WebSocketMask kMask{0x37, 0xfa, 0x21, 0x3d};

std::string bytes_of(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}

struct Read {
  Messages messages;
  std::optional<WebSocketError> error;

  bool operator==(const Read&) const = default;
};

// What comes out of the bytes when they are fed in pieces of that size.
Read read(Peer sender, std::string_view bytes, std::size_t piece) {
  WebSocketReader reader(sender);
  Read read;
  while (!bytes.empty() && !read.error) {
    reader.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (;;) {
      auto next = reader.next();
      if (!next) read.error = next.error();
      if (!next || !*next) break;
      read.messages.push_back(**std::move(next));
    }
  }
  return read;
}

// The same however it is cut.
Read read(Peer sender, std::string_view bytes) {
  const Read whole = read(sender, bytes, bytes.size());
  EXPECT_EQ(read(sender, bytes, 1), whole);
  EXPECT_EQ(read(sender, bytes, 7), whole);
  return whole;
}

Messages messages(Peer sender, std::string_view bytes) {
  const Read all = read(sender, bytes);
  EXPECT_EQ(all.error, std::nullopt) << all.error->reason;
  return all.messages;
}

CloseCode refusal(std::string_view bytes, Peer sender = Peer::kClient) {
  const Read all = read(sender, bytes);
  EXPECT_TRUE(all.error.has_value());
  return all.error ? all.error->code : CloseCode::kNormal;
}

WebSocketMessage text(std::string payload) {
  return {.kind = Kind::kText, .payload = std::move(payload)};
}

// A frame of a client whose first byte is as given.
std::string client_frame(int first, std::string_view payload) {
  std::string frame = format_frame(Kind::kText, payload, kMask);
  frame[0] = static_cast<char>(first);
  return frame;
}

// ---- RFC 6455, section 1.3 and section 5.7

TEST(WebSocketTest, AnswersAKeyAsInTheRfc) {
  EXPECT_EQ(websocket_accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebSocketTest, RefusesKeysThatAreNone) {
  for (const std::string_view key :
       {"", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZQ===", "dGhlIHNhbXBsZSBub25jZQAA",
        "dGhlIHNhbXBsZSBub25j Q==", "====================== =="}) {
    EXPECT_EQ(websocket_accept(key), std::nullopt) << key;
  }
}

TEST(WebSocketTest, AWholeText) {
  const std::string plain = bytes_of({0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f});
  EXPECT_EQ(messages(Peer::kServer, plain), Messages{text("Hello")});
  EXPECT_EQ(format_frame(Kind::kText, "Hello"), plain);
  const std::string masked = bytes_of({0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58});
  EXPECT_EQ(messages(Peer::kClient, masked), Messages{text("Hello")});
  EXPECT_EQ(format_frame(Kind::kText, "Hello", kMask), masked);
}

TEST(WebSocketTest, ATextInFragments) {
  EXPECT_EQ(messages(Peer::kServer, bytes_of({0x01, 0x03, 0x48, 0x65, 0x6c, 0x80, 0x02, 0x6c, 0x6f})),
            Messages{text("Hello")});
}

TEST(WebSocketTest, PingAndPong) {
  EXPECT_EQ(messages(Peer::kServer, bytes_of({0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f})),
            (Messages{{.kind = Kind::kPing, .payload = "Hello"}}));
  EXPECT_EQ(messages(Peer::kClient, bytes_of({0x8a, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58})),
            (Messages{{.kind = Kind::kPong, .payload = "Hello"}}));
}

TEST(WebSocketTest, LongerOnes) {
  const std::string of256 = bytes_of({0x82, 0x7e, 0x01, 0x00}) + std::string(256, 'x');
  EXPECT_EQ(messages(Peer::kServer, of256), (Messages{{.kind = Kind::kBinary, .payload = std::string(256, 'x')}}));
  EXPECT_EQ(format_frame(Kind::kBinary, std::string(256, 'x')), of256);
  const std::string of64k = bytes_of({0x82, 0x7f, 0, 0, 0, 0, 0, 0x01, 0, 0}) + std::string(65'536, 'x');
  EXPECT_EQ(messages(Peer::kServer, of64k), (Messages{{.kind = Kind::kBinary, .payload = std::string(65'536, 'x')}}));
  EXPECT_EQ(format_frame(Kind::kBinary, std::string(65'536, 'x')), of64k);
}

// ---- what is beyond its examples

TEST(WebSocketTest, EveryLengthComesBack) {
  for (const std::size_t length : std::vector<std::size_t>{0, 1, 125, 126, 127, 65'535, 65'536}) {
    const std::string payload(length, 'a');
    EXPECT_EQ(read(Peer::kServer, format_frame(Kind::kText, payload), 4'096).messages, Messages{text(payload)});
    EXPECT_EQ(read(Peer::kClient, format_frame(Kind::kText, payload, kMask), 4'096).messages, Messages{text(payload)});
  }
}

TEST(WebSocketTest, ControlFramesComeBetweenFragments) {
  const std::string stream = client_frame(0x01, "Hel") + client_frame(0x89, "are you there") + client_frame(0x00, "") +
                             client_frame(0x8a, "") + client_frame(0x80, "lo") + client_frame(0x81, "next");
  EXPECT_EQ(
      messages(Peer::kClient, stream),
      (Messages{
          {.kind = Kind::kPing, .payload = "are you there"}, {.kind = Kind::kPong}, text("Hello"), text("next")}));
}

TEST(WebSocketTest, ACharacterMayBeCutBetweenFragmentsButNotAtTheEnd) {
  EXPECT_EQ(messages(Peer::kClient, client_frame(0x01, "\xc3") + client_frame(0x80, "\xa9")), Messages{text("é")});
  EXPECT_EQ(refusal(client_frame(0x81, "\xc3")), CloseCode::kInvalidText);
  EXPECT_EQ(refusal(client_frame(0x01, "a") + client_frame(0x80, "\xff")), CloseCode::kInvalidText);
  EXPECT_EQ(refusal(client_frame(0x81, "\xed\xa0\x80")), CloseCode::kInvalidText) << "a surrogate";
  EXPECT_EQ(messages(Peer::kClient, client_frame(0x82, "\xff")).at(0).payload, "\xff") << "binary is any bytes";
}

TEST(WebSocketTest, ClientsMaskAndServersDoNot) {
  EXPECT_EQ(refusal(format_frame(Kind::kText, "Hello"), Peer::kClient), CloseCode::kProtocolError);
  EXPECT_EQ(refusal(format_frame(Kind::kText, "Hello", kMask), Peer::kServer), CloseCode::kProtocolError);
}

TEST(WebSocketTest, RefusesReservedBitsAndUnknownOpcodes) {
  for (const int reserved : {0x40, 0x20, 0x10}) {
    EXPECT_EQ(refusal(client_frame(0x81 | reserved, "x")), CloseCode::kProtocolError) << reserved;
  }
  for (const int opcode : {3, 4, 5, 6, 7, 11, 12, 13, 14, 15}) {
    EXPECT_EQ(refusal(client_frame(0x80 | opcode, "x")), CloseCode::kProtocolError) << opcode;
  }
}

TEST(WebSocketTest, RefusesFragmentsInTheWrongOrder) {
  EXPECT_EQ(refusal(client_frame(0x80, "x")), CloseCode::kProtocolError);
  EXPECT_EQ(refusal(client_frame(0x00, "x")), CloseCode::kProtocolError);
  EXPECT_EQ(refusal(client_frame(0x01, "x") + client_frame(0x81, "y")), CloseCode::kProtocolError);
  EXPECT_EQ(refusal(client_frame(0x81, "x") + client_frame(0x80, "y")), CloseCode::kProtocolError);
}

TEST(WebSocketTest, RefusesControlFramesThatAreLongOrInFragments) {
  EXPECT_EQ(refusal(client_frame(0x09, "x")), CloseCode::kProtocolError);
  EXPECT_EQ(messages(Peer::kClient, client_frame(0x89, std::string(125, 'x'))).size(), 1U);
  EXPECT_EQ(refusal(client_frame(0x89, std::string(126, 'x'))), CloseCode::kProtocolError);
  EXPECT_EQ(refusal(client_frame(0x88, std::string(126, 'x'))), CloseCode::kProtocolError);
}

TEST(WebSocketTest, RefusesLengthsInMoreBytesThanTheyNeed) {
  EXPECT_EQ(refusal(bytes_of({0x81, 0x80 | 126, 0, 125})), CloseCode::kProtocolError);
  EXPECT_EQ(refusal(bytes_of({0x81, 0x80 | 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff})), CloseCode::kProtocolError);
  EXPECT_EQ(refusal(bytes_of({0x81, 0x80 | 127, 0x80, 0, 0, 0, 0, 0, 0, 0})), CloseCode::kProtocolError);
}

TEST(WebSocketTest, RefusesWhatIsTooLargeBeforeItIsThere) {
  EXPECT_EQ(refusal(bytes_of({0x82, 0x80 | 127, 0, 0, 0, 0, 0, 0x01, 0, 0x01})), CloseCode::kTooLarge);
  EXPECT_EQ(refusal(bytes_of({0x82, 0x80 | 127, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})),
            CloseCode::kTooLarge);
  // In all its fragments together; a ping between them does not count.
  const std::string most = client_frame(0x01, std::string(60'000, 'x')) + client_frame(0x89, std::string(125, 'x'));
  EXPECT_EQ(read(Peer::kClient, most + client_frame(0x80, std::string(5'536, 'x')), 4'096).messages.size(), 2U);
  const Read refused = read(Peer::kClient, most + client_frame(0x80, std::string(5'537, 'x')), 4'096);
  EXPECT_EQ(refused.error->code, CloseCode::kTooLarge);
}

TEST(WebSocketTest, ReadsACloseAndNothingAfterIt) {
  const std::string normal = client_frame(0x88, bytes_of({0x03, 0xe8}) + "bye");
  EXPECT_EQ(messages(Peer::kClient, normal + client_frame(0x81, "x")),
            (Messages{{.kind = Kind::kClose, .payload = "bye", .close_code = 1000}}));
  EXPECT_EQ(messages(Peer::kClient, client_frame(0x88, "")),
            (Messages{{.kind = Kind::kClose, .payload = "", .close_code = kNoCloseCode}}));
}

TEST(WebSocketTest, RefusesClosesThatMayNotBeSent) {
  EXPECT_EQ(refusal(client_frame(0x88, "x")), CloseCode::kProtocolError);
  for (const int code : {0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65'535}) {
    EXPECT_EQ(refusal(client_frame(0x88, bytes_of({code >> 8, code & 0xff}))), CloseCode::kProtocolError) << code;
  }
  for (const int code : {1000, 1003, 1007, 1011, 1013, 1014, 3000, 4999}) {
    EXPECT_EQ(messages(Peer::kClient, client_frame(0x88, bytes_of({code >> 8, code & 0xff}))).at(0).close_code, code);
  }
  EXPECT_EQ(refusal(client_frame(0x88, bytes_of({0x03, 0xe8, 0xff}))), CloseCode::kInvalidText);
}

TEST(WebSocketTest, AnErrorStays) {
  WebSocketReader reader(Peer::kClient);
  reader.feed(bytes_of({0xff, 0xff}));
  const auto first = reader.next();
  ASSERT_FALSE(first.has_value());
  reader.feed(client_frame(0x81, "x"));
  EXPECT_EQ(reader.next().error(), first.error());
}

TEST(WebSocketTest, FormatsAClose) {
  EXPECT_EQ(format_close(CloseCode::kTryAgainLater, "slow"), bytes_of({0x88, 0x06, 0x03, 0xf5}) + "slow");
  const Messages cut = messages(Peer::kServer, format_close(CloseCode::kNormal, std::string(122, 'x') + "éé"));
  EXPECT_EQ(cut.at(0).payload, std::string(122, 'x')) << "no half character";
}

TEST(WebSocketTest, AnyBytesAreReadToTheSameEndHoweverTheyAreCut) {
  SeededRng rng(1);
  for (int round = 0; round < 2'000; ++round) {
    std::string bytes;
    for (std::uint64_t frames = 1 + rng.below(4); frames > 0; --frames) {
      bytes += client_frame(static_cast<int>(rng.below(256)), std::string(rng.below(140), 'x'));
    }
    if (rng.below(2) == 0) bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
    read(Peer::kClient, bytes);
    read(Peer::kServer, bytes);
  }
}

}  // namespace
}  // namespace drover
