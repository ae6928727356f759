// The library as text: how many names its blocks have, and that what is known once is known in one file.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "store/redis/library.h"

namespace drover {
namespace {

constexpr int kNamesMax = 150;  // in a block; Lua takes 200
const std::set<std::string> kShared{"0_keys.lua", "1_call.lua", "1_record.lua", "3_lanes.lua"};

std::map<std::string, std::string> lua_files() {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(DROVER_SOURCES "/src/store/redis/lua")) {
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    files[entry.path().filename().string()] = text.str();
  }
  return files;
}

std::string without_comments(const std::string& text) {
  return std::regex_replace(text, std::regex("--[^\n]*"), "");
}

int matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return static_cast<int>(std::distance(std::sregex_iterator(text.begin(), text.end(), regex), {}));
}

// Those that a file's outermost block declares.
int names_in(const std::string& text) {
  const std::string code = "\n" + without_comments(text);
  const std::regex declaration(R"(\nlocal (?!function)([\w\s,]+?)(?= =|\n\n|\nlocal|$))");
  int names = matches(code, R"(\nlocal function )");
  for (std::sregex_iterator it(code.begin(), code.end(), declaration), end; it != end; ++it) {
    names += 1 + matches((*it)[1], ",");
  }
  return names;
}

TEST(LibraryText, BlocksHaveRoomForMoreNames) {
  const std::string head = redis::library_text(redis::LibraryClock::kServer);
  int shared = names_in(head.substr(0, head.find("\n-- ")));
  EXPECT_GE(shared, 7) << "what C++ says";
  for (const auto& [name, text] : lua_files()) {
    const int names = names_in(text);
    EXPECT_LT(names, kNamesMax) << name;
    if (kShared.contains(name)) shared += names;
  }
  EXPECT_GT(shared, 60);
  EXPECT_LT(shared, kNamesMax);
}

TEST(LibraryText, KeysAreNamedInOneFile) {
  for (const auto& [name, text] : lua_files()) {
    if (name == "0_keys.lua") continue;
    EXPECT_EQ(matches(without_comments(text), R"(\bP \.\. '[a-z])"), 0) << name;
  }
}

TEST(LibraryText, ARecordsLayoutIsKnownInOneFile) {
  for (const auto& [name, text] : lua_files()) {
    if (name == "1_record.lua") continue;
    EXPECT_EQ(matches(without_comments(text), R"(%d\+\)? \(?%d\+\)? \(?%d\+|running %d)"), 0) << name;
  }
}

}  // namespace
}  // namespace drover
