// Every input that is kept, once: what fuzzing found stays found, whatever compiler built it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "fuzz/targets.h"

namespace drover::fuzz {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(FuzzCorpus, IsReadWithoutAFinding) {
  for (const Target& target : targets()) {
    const fs::path folder = fs::path(DROVER_FUZZ_CORPUS) / target.name;
    ASSERT_TRUE(fs::is_directory(folder)) << folder << ": a target needs something to start from";
    int files = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
      SCOPED_TRACE(entry.path().string());
      target.feed(bytes_of(entry.path()));
      ++files;
    }
    EXPECT_GT(files, 0) << target.name;
  }
}

// So that a folder whose target was renamed is not silently left out.
TEST(FuzzCorpus, HasATargetForEveryFolder) {
  std::set<std::string> names;
  for (const Target& target : targets()) names.emplace(target.name);
  for (const auto& entry : fs::directory_iterator(DROVER_FUZZ_CORPUS)) {
    EXPECT_TRUE(names.contains(entry.path().filename().string())) << entry.path();
  }
}

}  // namespace
}  // namespace drover::fuzz
