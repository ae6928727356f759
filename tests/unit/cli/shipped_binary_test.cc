// The program that people run has no test hooks in it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "hooks/test_hooks.h"

namespace drover {
namespace {

std::string bytes_of(const char* path) {
  std::string bytes(std::filesystem::file_size(path), '\0');
  std::ifstream(path, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

class ShippedBinaryTest : public testing::Test {
 protected:
  [[nodiscard]] bool contains(std::string_view text) const { return program_.find(text) != std::string::npos; }

  const std::string program_ = bytes_of(DROVER_BIN);
};

TEST_F(ShippedBinaryTest, NamesNoFailpointAndNoPlantedBug) {
  ASSERT_TRUE(contains("store_unavailable")) << "this is how a text of the program looks";
  for (int i = 0; i < kFailpointCount; ++i) {
    const std::string_view name = name_of(static_cast<Failpoint>(i));
    EXPECT_FALSE(contains(name)) << name;
  }
  for (int i = 1; i <= kPlantedBugCount; ++i) {
    const std::string_view name = name_of(static_cast<PlantedBug>(i));
    EXPECT_FALSE(contains(name)) << name;
  }
}

// Symbols and debug information, which name them too, are in a file beside a release.
TEST_F(ShippedBinaryTest, HasNoSymbolsOfThemInARelease) {
  if (!DROVER_SPLIT_DEBUG) return;
  std::string program = program_;
  std::ranges::transform(program, program.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const std::string_view word : {"failpoint", "planted"}) {
    EXPECT_EQ(program.find(word), std::string::npos) << word;
  }
  EXPECT_NE(bytes_of(DROVER_BIN ".debug").find("Failpoint"), std::string::npos);
}

}  // namespace
}  // namespace drover
