#include "core/transcript.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

LogRecord record(std::int64_t seq, std::string text, int run = 1, std::int64_t left_out_before = 0) {
  return {.seq = seq,
          .run = run,
          .stream = LogStream::kTranscript,
          .text = std::move(text),
          .left_out_before = left_out_before};
}

std::vector<std::string> events(const std::vector<TranscriptLine>& lines) {
  std::vector<std::string> all;
  for (const TranscriptLine& line : lines) all.push_back(line.event);
  return all;
}

using Events = std::vector<std::string>;

TEST(TranscriptLines, AreJoinedFromPiecesOfTheLog) {
  TranscriptLines lines;
  EXPECT_EQ(events(lines.feed(record(1, "{\"kind\":\"text\",\"te"))), Events{});
  EXPECT_EQ(lines.complete_until(), 0);
  EXPECT_EQ(events(lines.feed(record(2, "xt\":\"a\"}\n{\"kind\":\"usage\"}\n"))),
            (Events{R"({"kind":"text","text":"a"})", R"({"kind":"usage"})"}));
  EXPECT_EQ(lines.complete_until(), 2);
}

TEST(TranscriptLines, LeaveOtherStreamsAlone) {
  TranscriptLines lines;
  EXPECT_EQ(events(lines.feed(record(1, "{\"kind\":"))), Events{});
  LogRecord other = record(2, "words on stderr\n");
  other.stream = LogStream::kErr;
  EXPECT_EQ(events(lines.feed(other)), Events{});
  EXPECT_EQ(lines.complete_until(), 0);
  EXPECT_EQ(events(lines.feed(record(3, "\"result\"}\n"))), Events{R"({"kind":"result"})"});
}

TEST(TranscriptLines, ShowWhatIsLeftOfALineAsItIs) {
  TranscriptLines lines;
  EXPECT_EQ(events(lines.feed(record(1, "{\"kind\":\"te"))), Events{});
  EXPECT_EQ(events(lines.feed(record(5, "d of a line\n{\"kind\":\"text\"}\n", 1, 900))),
            (Events{R"({"kind":"raw","text":"{\"kind\":\"te"})", R"({"kind":"raw","text":"d of a line"})",
                    R"({"kind":"text"})"}));
  EXPECT_EQ(events(lines.feed(record(6, "half"))), Events{});
  const std::vector<TranscriptLine> rest = lines.feed(record(7, "", 2));
  EXPECT_EQ(events(rest), Events{R"({"kind":"raw","text":"half"})"});
  EXPECT_EQ(rest.at(0).run, 1) << "the run that began the line";
}

TEST(TranscriptLine, IsJson) {
  const TranscriptLine line{.seq = 7, .run = 2, .at = Time{Millis{0}}, .event = R"({"kind":"text"})"};
  EXPECT_EQ(to_json(line), R"({"seq":7,"run":2,"at":"1970-01-01T00:00:00.000Z","event":{"kind":"text"}})");
}

}  // namespace
}  // namespace drover
