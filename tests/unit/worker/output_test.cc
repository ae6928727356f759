#include "worker/output.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/log_remark.h"
#include "support/temp_dir.h"

namespace drover::test {
namespace {

std::string joined(const std::vector<LogChunk>& chunks, LogStream stream) {
  std::string text;
  for (const LogChunk& chunk : chunks) {
    if (chunk.stream == stream) text += chunk.text;
  }
  return text;
}

TEST(LogBuffer, ACharacterCutByAReadIsNotBroken) {
  const std::string text = "a\u00e9\u20ac\U0001F600z";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    LogBuffer buffer;
    buffer.add(LogStream::kOut, text.substr(0, cut));
    buffer.add(LogStream::kErr, "between");
    std::string out = joined(buffer.take(), LogStream::kOut);
    buffer.add(LogStream::kOut, text.substr(cut));
    buffer.finish();
    out += joined(buffer.take(), LogStream::kOut);
    EXPECT_EQ(out, text) << "cut at " << cut;
  }
}

TEST(LogBuffer, WhatIsNoTextIsReplacedAndTheRestStays) {
  LogBuffer buffer;
  buffer.add(LogStream::kOut, "a\xFF\xC3");
  buffer.add(LogStream::kOut, "b\xE2\x82");
  buffer.finish();
  EXPECT_EQ(joined(buffer.take(), LogStream::kOut),
            "a\xEF\xBF\xBD\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
}

TEST(LogBuffer, SmallReadsAreJoinedAndStreamsKeepTheirOrder) {
  LogBuffer buffer;
  for (int i = 0; i < 100; ++i) buffer.add(LogStream::kOut, "x");
  buffer.add(LogStream::kErr, "e");
  buffer.add(LogStream::kOut, "y");
  const std::vector<LogChunk> chunks = buffer.take();
  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(chunks[0].text, std::string(100, 'x'));
  EXPECT_EQ(chunks[1].text, "e");
  EXPECT_EQ(chunks[2].text, "y");
  EXPECT_TRUE(buffer.is_empty());
}

TEST(LogBuffer, OfAFloodTheBeginningAndTheEndStayAndTheGapIsTold) {
  LogBuffer buffer;
  constexpr std::size_t kRead = 64 * 1024;
  constexpr std::size_t kReads = 1000;
  buffer.add(LogStream::kOut, "BEGIN");
  for (std::size_t i = 0; i < kReads; ++i) buffer.add(LogStream::kOut, std::string(kRead, 'x'));
  buffer.add(LogStream::kOut, "END");
  const std::vector<LogChunk> chunks = buffer.take();
  const std::string out = joined(chunks, LogStream::kOut);
  EXPECT_TRUE(out.starts_with("BEGIN"));
  EXPECT_TRUE(out.ends_with("END"));
  EXPECT_LE(out.size(), 1100U * 1024);
  EXPECT_GE(out.size(), 1024U * 1024) << "as much as a store keeps of a run, however large the reads";
  const std::size_t left_out = kReads * kRead + 8 - out.size();
  EXPECT_EQ(joined(chunks, LogStream::kDrover), "[" + std::to_string(left_out) + " bytes of output left out here]\n");
}

TEST(LogBuffer, ALargeReadIsCutBetweenCharacters) {
  for (std::size_t shift = 0; shift < 3; ++shift) {
    std::string text(shift, 'x');
    while (text.size() < 60'000) text += "\u20ac";
    LogBuffer buffer;
    buffer.add(LogStream::kOut, text);
    EXPECT_EQ(joined(buffer.take(), LogStream::kOut), text);
  }
}

TEST(LogBuffer, WhatFitsBetweenTwoFlushesIsWhole) {
  LogBuffer buffer;
  constexpr std::size_t kBytes = 1024 * 1024;  // the largest cap of a store
  for (std::size_t i = 0; i < kBytes / 4096; ++i) buffer.add(LogStream::kOut, std::string(4096, 'x'));
  EXPECT_EQ(joined(buffer.take(), LogStream::kOut).size(), kBytes);
}

TEST(LogBuffer, WhatCouldNotBeStoredComesBeforeTheRest) {
  LogBuffer buffer;
  buffer.add(LogStream::kOut, "12345");
  std::vector<LogChunk> taken = buffer.take();
  buffer.add(LogStream::kOut, "678");
  buffer.put_back(std::move(taken));
  EXPECT_FALSE(buffer.is_empty());
  EXPECT_EQ(joined(buffer.take(), LogStream::kOut), "12345678");
}

TEST(LogBuffer, EveryByteIsThereOrCountedHoweverOftenItIsPutBack) {
  LogBuffer buffer;
  std::int64_t written = 0;
  for (int round = 1; round <= 5; ++round) {
    std::vector<LogChunk> taken = buffer.take();
    const std::string text(static_cast<std::size_t>(round) * 300'000, 'x');
    buffer.add(LogStream::kOut, text);
    written += static_cast<std::int64_t>(text.size());
    buffer.put_back(std::move(taken));
  }
  std::int64_t accounted = 0;
  for (const LogChunk& chunk : buffer.take()) accounted += output_bytes(chunk.stream, chunk.text);
  EXPECT_EQ(accounted, written);
}

TEST(OutputFile, IsMadeWithTheFirstByteAndStopsAtItsLimit) {
  const TempDir dir;
  OutputFile file(dir.file("out"), 10);
  EXPECT_TRUE(file.is_empty());
  EXPECT_FALSE(std::filesystem::exists(dir.file("out")));
  file.write("1234567");
  EXPECT_EQ(file.take_complaint(), "");
  file.write("89abcdef");
  EXPECT_EQ(file.take_complaint(), dir.file("out") + " was cut at 10 bytes");
  file.write("more");
  EXPECT_EQ(file.take_complaint(), "") << "told once";
  EXPECT_EQ(std::filesystem::file_size(dir.file("out")), 10U);
}

TEST(OutputFile, ComplainsWhenItCannotBeWritten) {
  OutputFile missing("/nowhere/out", 10);
  missing.write("x");
  EXPECT_NE(missing.take_complaint().find("No such file"), std::string::npos);
  OutputFile full("/dev/full", 10);
  full.write("x");
  EXPECT_NE(full.take_complaint().find("No space left"), std::string::npos);
}

}  // namespace
}  // namespace drover::test
