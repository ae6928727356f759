#include "net/http_chunks.h"

#include <gtest/gtest.h>

namespace drover::test {
namespace {

constexpr std::size_t kBytesMax = 1 << 20;

// The status that it is refused with; 0 while it goes on.
int feed(ChunkReader& reader, std::string_view bytes) {
  const auto taken = reader.feed(bytes);
  return taken ? 0 : taken.error().status;
}

int status_of(std::string_view wire) {
  ChunkReader reader(kBytesMax);
  return feed(reader, wire);
}

TEST(ChunkReader, TakesWhatBelongsToTheBodyAndNoMore) {
  ChunkReader reader(kBytesMax);
  const auto taken = reader.feed("3;note=\"x\"\r\nabc\r\n0\r\nT: x\r\n\r\nGET /");
  ASSERT_TRUE(taken);
  EXPECT_EQ(*taken, std::string_view("3;note=\"x\"\r\nabc\r\n0\r\nT: x\r\n\r\n").size());
  EXPECT_TRUE(reader.is_done());
  EXPECT_EQ(reader.take(), "abc");
}

TEST(ChunkReader, RefusesFramingThatOthersMightReadOtherwise) {
  for (const std::string_view wire : {"\r\n",
                                      "x\r\n",
                                      " 3\r\n",
                                      "3 \r\n",
                                      "0x3\r\n",
                                      "-1\r\n",
                                      "3\n",
                                      "3\r3",
                                      "3;a\n",
                                      "3;a\x01\r\n",
                                      "3\r\nabcd",
                                      "3\r\nabc\n",
                                      "0\r\n T: x\r\n",
                                      "0\r\nno colon\r\n",
                                      "0\r\nT : x\r\n",
                                      "0\r\n: x\r\n",
                                      "0\r\nT: x\n",
                                      "0\r\n\n",
                                      "0\r\nT: \x01\r\n",
                                      "00000000000000001\r\n"}) {
    EXPECT_EQ(status_of(wire), 400) << wire;
  }
  EXPECT_EQ(status_of("fffffff\r\n"), 413);
  EXPECT_EQ(status_of("ffffffffffffffff\r\n"), 413);
}

// However much comes, no more is held than the body.
TEST(ChunkReader, HoldsNothingOfSizesExtensionsAndTrailers) {
  const std::string much(kBytesMax, 'a');
  for (const std::string& before : {std::string("0;"), std::string("0\r\nT: "), std::string("0\r\n"), std::string()}) {
    ChunkReader reader(kBytesMax);
    int status = feed(reader, before);
    std::size_t sent = 0;
    for (; sent < much.size() && status == 0; ++sent) {
      status = feed(reader, std::string_view(much).substr(sent, 1));
      EXPECT_EQ(reader.held(), 0U);
    }
    EXPECT_EQ(status, 400) << before;
    EXPECT_LE(sent, kTrailerBytesMax + 1) << before;
  }
}

TEST(ChunkReader, RefusesABodyThatIsMostlyFraming) {
  ChunkReader small(kBytesMax);
  for (int i = 0; i < 100'000; ++i) ASSERT_EQ(feed(small, "1\r\nx\r\n"), 0) << i;
  ChunkReader padded(kBytesMax);
  const std::string chunk = "1;" + std::string(kChunkExtensionBytesMax, 'e') + "\r\nx\r\n";
  int status = 0;
  int chunks = 0;
  for (; chunks < 100'000 && status == 0; ++chunks) status = feed(padded, chunk);
  EXPECT_EQ(status, 400);
  EXPECT_LT(chunks, 1'000);
}

}  // namespace
}  // namespace drover::test
