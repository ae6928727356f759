#include "cli/project.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "cli/files.h"
#include "cli/trust_file.h"
#include "support/must.h"
#include "support/printers.h"
#include "support/temp_dir.h"

namespace drover::cli {
namespace {

using test::code_of;
using test::must;

class ProjectTest : public testing::Test {
 protected:
  ProjectTest() : folder_(std::filesystem::canonical(dir_.path()) / "project") {
    std::filesystem::create_directory(folder_);
    variables_["XDG_STATE_HOME"] = dir_.file("state");
  }

  void write_yaml(std::string_view text) const { std::ofstream(folder_ / "drover.yaml") << text; }
  [[nodiscard]] Context context() const {
    return {.common = common_,
            .environment = Environment(variables_),
            .folder = folder_,
            .out = Output(1, {}),
            .err = Output(2, {})};
  }
  void trust() const {
    const Project project = must(read_project(folder_ / "drover.yaml"));
    must(must(TrustFile::of_user(Environment(variables_))).trust(project.path, project.sha256));
  }

  test::TempDir dir_;
  std::filesystem::path folder_;
  CommonOptions common_;
  Variables variables_;
};

// Each step is stronger than the ones before it.
TEST_F(ProjectTest, ChoosesTheStore) {
  EXPECT_EQ(must(choose_store(context())), "sqlite:" + dir_.file("state/drover/drover.db"));
  std::filesystem::create_directory(folder_ / ".drover");
  EXPECT_EQ(must(choose_store(context())), fmt::format("sqlite:{}/.drover/drover.db", folder_.string()));
  write_yaml("store: sqlite:elsewhere.db\n");
  EXPECT_EQ(must(choose_store(context())), "sqlite:elsewhere.db");
  variables_["DROVER_STORE"] = "sqlite:/from/environment.db";
  EXPECT_EQ(must(choose_store(context())), "sqlite:/from/environment.db");
  common_.store = "memory:";
  EXPECT_EQ(must(choose_store(context())), "memory:");
}

TEST_F(ProjectTest, StateFolderFollowsXdg) {
  EXPECT_EQ(must(state_folder(Environment(Variables{{"XDG_STATE_HOME", "/s"}, {"HOME", "/h"}}))), "/s/drover");
  EXPECT_EQ(must(state_folder(Environment(Variables{{"XDG_STATE_HOME", "relative"}, {"HOME", "/h"}}))),
            "/h/.local/state/drover");
  EXPECT_EQ(must(state_folder(Environment(Variables{{"HOME", "/h"}}))), "/h/.local/state/drover");
  EXPECT_EQ(code_of(state_folder(Environment(Variables{{"HOME", ""}}))), ErrorCode::kInvalidArgument);
}

TEST_F(ProjectTest, AnUntrustedFileMayNotLeadElsewhere) {
  for (const std::string_view url :
       {"sqlite:/tmp/other.db", "sqlite:../other.db", "sqlite:a/../../b.db", "redis://host"}) {
    write_yaml(fmt::format("store: \"{}\"\n", url));
    EXPECT_EQ(code_of(choose_store(context())), ErrorCode::kForbidden) << url;
    trust();
    EXPECT_EQ(must(choose_store(context())), url);
  }
}

TEST_F(ProjectTest, ABrokenFileIsToldWithItsLine) {
  write_yaml("types:\n  a: {quue: b}\n");
  const auto store = choose_store(context());
  ASSERT_EQ(code_of(store), ErrorCode::kInvalidConfig);
  EXPECT_TRUE(store.error().message.starts_with("drover.yaml:2: ")) << store.error().message;
}

TEST_F(ProjectTest, TrustEndsWithTheFirstChange) {
  write_yaml("local: {runners: {a: {argv: [cat]}}}\n");
  const auto is_trusted_now = [&] {
    const auto project = must(find_project(context()));
    return must(is_trusted(project.value(), context().environment));
  };
  EXPECT_FALSE(is_trusted_now());
  trust();
  EXPECT_TRUE(is_trusted_now());
  write_yaml("local: {runners: {a: {argv: [rm]}}}\n");
  EXPECT_FALSE(is_trusted_now());
}

TEST_F(ProjectTest, NoFileIsNoProject) {
  EXPECT_EQ(must(find_project(context())).has_value(), false);
}

TEST_F(ProjectTest, TheLogLevelIsThatOfTheFlagThenOfTheProject) {
  const auto level = [&] { return log_level_of(context(), must(find_project(context())), LogLevel::kInfo); };
  EXPECT_EQ(level(), LogLevel::kInfo);
  write_yaml("types: {a: {queue: b}}\n");
  EXPECT_EQ(level(), LogLevel::kInfo);
  write_yaml("local: {log: {level: error}}\n");
  EXPECT_EQ(level(), LogLevel::kError);
  common_.log_level = LogLevel::kDebug;
  EXPECT_EQ(level(), LogLevel::kDebug);
}

}  // namespace
}  // namespace drover::cli
