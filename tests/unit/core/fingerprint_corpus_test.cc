// Messages of agents, providers and tools as they are: those of one kind have one fingerprint, those of two have two.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "core/fingerprint.h"

namespace drover {
namespace {

struct Kind {
  std::string name;
  std::vector<std::string> messages;
};

std::string with_line_breaks(std::string text) {
  for (std::size_t at = text.find("\\n"); at != std::string::npos; at = text.find("\\n", at + 1)) {
    text.replace(at, 2, "\n");
  }
  return text;
}

std::vector<Kind> read_kinds() {
  std::ifstream file(DROVER_FIXTURES "/errors/kinds.txt");
  std::vector<Kind> kinds;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with("# ")) continue;
    if (line.starts_with("== ")) {
      kinds.push_back({line.substr(3), {}});
    } else {
      kinds.at(kinds.size() - 1).messages.push_back(with_line_breaks(line));
    }
  }
  return kinds;
}

TEST(FingerprintCorpus, IsLarge) {
  std::size_t messages = 0;
  for (const Kind& kind : read_kinds()) messages += kind.messages.size();
  EXPECT_GE(messages, 150U);
  EXPECT_GE(read_kinds().size(), 60U);
}

TEST(FingerprintCorpus, MessagesOfOneKindShareAPattern) {
  for (const Kind& kind : read_kinds()) {
    ASSERT_FALSE(kind.messages.empty()) << kind.name;
    const std::string pattern = pattern_of(kind.messages.front());
    for (const std::string& message : kind.messages) EXPECT_EQ(pattern_of(message), pattern) << kind.name;
  }
}

TEST(FingerprintCorpus, MessagesOfTwoKindsDoNot) {
  std::map<std::string, std::string> kind_of;
  for (const Kind& kind : read_kinds()) {
    for (const std::string& message : kind.messages) {
      const auto [known, is_new] = kind_of.emplace(fingerprint({ErrorClass::kAgentError, message}), kind.name);
      EXPECT_TRUE(is_new || known->second == kind.name)
          << known->second << " and " << kind.name << ": " << pattern_of(message);
    }
  }
}

TEST(FingerprintCorpus, PatternsAreTheirOwn) {
  for (const Kind& kind : read_kinds()) {
    for (const std::string& message : kind.messages) {
      const std::string pattern = pattern_of(message);
      EXPECT_LE(pattern.size(), kPatternBytesMax);
      EXPECT_EQ(pattern_of(pattern), pattern) << message;
    }
  }
}

}  // namespace
}  // namespace drover
