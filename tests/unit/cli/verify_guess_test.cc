#include "cli/verify_guess.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_dir.h"

namespace drover::cli {
namespace {

class VerifyGuessTest : public testing::Test {
 protected:
  VerifyGuessTest() {
    std::filesystem::create_directory(dir_.path() / "bin");
    std::filesystem::create_directory(dir_.path() / "project");
  }

  void write(const std::string& name, std::string_view text) const { std::ofstream(dir_.path() / name) << text; }
  void install(const std::string& name) const {
    write(name, "#!/bin/sh\n");
    std::filesystem::permissions(dir_.path() / name, std::filesystem::perms::owner_all);
  }
  // "make test", "# make test" if it is not sure, or "nothing".
  [[nodiscard]] std::string guess() const {
    const auto found = guess_verify(dir_.path() / "project", Environment(Variables{{"PATH", dir_.file("bin")}}));
    if (!found) return "nothing";
    return fmt::format("{}{}", found->is_sure ? "" : "# ", fmt::join(found->argv, " "));
  }

  test::TempDir dir_;
};

TEST_F(VerifyGuessTest, WhatAFolderDeclaresIsSureWhereItsProgramIs) {
  struct Case {
    const char* file;
    const char* text;
    const char* program;
    const char* expected;
  };
  for (const Case& one : std::initializer_list<Case>{
           {"Makefile", "all:\n\ntest: all\n\t./run\n", "make", "make test"},
           {"package.json", R"({"scripts": {"test": "vitest run"}})", "npm", "npm test"},
           {"Cargo.toml", "[package]\nname = \"x\"\n", "cargo", "cargo test"},
           {"go.mod", "module example.com/x\n", "go", "go test ./..."},
           {"justfile", "test:\n  ./run\n", "just", "just test"},
           {"pyproject.toml", "[tool.pytest.ini_options]\n", "pytest", "pytest"},
           {"pytest.ini", "[pytest]\n", "pytest", "pytest"},
       }) {
    SCOPED_TRACE(one.file);
    write(std::string("project/") + one.file, one.text);
    EXPECT_EQ(guess(), std::string("# ") + one.expected);
    install(std::string("bin/") + one.program);
    EXPECT_EQ(guess(), one.expected);
    std::filesystem::remove(dir_.path() / "project" / one.file);
    std::filesystem::remove(dir_.path() / "bin" / one.program);
  }
}

TEST_F(VerifyGuessTest, WhatOnlyLooksLikeATestIsNone) {
  for (const char* program : {"make", "npm", "pytest"}) install(std::string("bin/") + program);
  EXPECT_EQ(guess(), "nothing");
  write("project/Makefile", "tests: all\ntest := yes\nall:\n\ttest: x\n");
  write("project/package.json", R"({"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}})");
  EXPECT_EQ(guess(), "nothing");
  write("project/package.json", "no json");
  EXPECT_EQ(guess(), "nothing");
  write("project/pyproject.toml", "[project]\n");
  EXPECT_EQ(guess(), "# pytest");
}

TEST_F(VerifyGuessTest, TheProjectsOwnScriptComesFirst) {
  install("bin/make");
  write("project/Makefile", "test:\n");
  write("project/dev", "usage:\n  build   all of it\n  test [REGEX]  run them\n");
  EXPECT_EQ(guess(), "make test") << "a script that nobody may run is none";
  std::filesystem::permissions(dir_.path() / "project/dev", std::filesystem::perms::owner_all);
  EXPECT_EQ(guess(), "./dev test");
}

}  // namespace
}  // namespace drover::cli
