#include "cli/trust_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/sha256.h"
#include "support/must.h"
#include "support/printers.h"
#include "support/temp_dir.h"

namespace drover::cli {
namespace {

using test::code_of;
using test::must;

class TrustFileTest : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path state() const { return dir_.path() / "state"; }
  [[nodiscard]] TrustFile file() const {
    return must(TrustFile::of_user(Environment(Variables{{"XDG_STATE_HOME", state().string()}})));
  }
  [[nodiscard]] mode_t mode_of(const std::filesystem::path& path) const {
    struct stat found{};
    return ::stat(path.c_str(), &found) == 0 ? found.st_mode & 0777 : 0;
  }

  test::TempDir dir_;
  const std::string one_ = sha256_hex("one");
  const std::string two_ = sha256_hex("two");
};

TEST_F(TrustFileTest, TrustsNothingAtFirst) {
  EXPECT_FALSE(must(file().trusts("/p/drover.yaml", one_)));
  EXPECT_FALSE(std::filesystem::exists(state()));
}

TEST_F(TrustFileTest, TrustsExactlyWhatWasTrusted) {
  must(file().trust("/p/drover.yaml", one_));
  must(file().trust("/q/drover.yaml", two_));
  EXPECT_TRUE(must(file().trusts("/p/drover.yaml", one_)));
  EXPECT_TRUE(must(file().trusts("/q/drover.yaml", two_)));
  EXPECT_FALSE(must(file().trusts("/p/drover.yaml", two_)));
  EXPECT_FALSE(must(file().trusts("/other/drover.yaml", one_)));
}

TEST_F(TrustFileTest, AChangedFileReplacesTheOldTrust) {
  must(file().trust("/p/drover.yaml", one_));
  must(file().trust("/p/drover.yaml", two_));
  EXPECT_TRUE(must(file().trusts("/p/drover.yaml", two_)));
  EXPECT_FALSE(must(file().trusts("/p/drover.yaml", one_)));
}

TEST_F(TrustFileTest, IsForItsOwnerOnly) {
  must(file().trust("/p/drover.yaml", one_));
  EXPECT_EQ(mode_of(state() / "drover" / "trusted"), 0600u);
  EXPECT_EQ(mode_of(state() / "drover"), 0700u);
}

TEST_F(TrustFileTest, IsNotBelievedWhenOthersMayWriteIt) {
  must(file().trust("/p/drover.yaml", one_));
  std::filesystem::permissions(state() / "drover" / "trusted", std::filesystem::perms(0620));
  EXPECT_EQ(code_of(file().trusts("/p/drover.yaml", one_)), ErrorCode::kForbidden);
  EXPECT_EQ(code_of(file().trust("/q/drover.yaml", one_)), ErrorCode::kForbidden);
}

TEST_F(TrustFileTest, ALineCutShortCountsForNothing) {
  must(file().trust("/p/drover.yaml", one_));
  std::ofstream(state() / "drover" / "trusted", std::ios::app) << two_ << " /q/drover.yaml";
  EXPECT_FALSE(must(file().trusts("/q/drover.yaml", two_)));
  EXPECT_TRUE(must(file().trusts("/p/drover.yaml", one_)));
}

TEST_F(TrustFileTest, RefusesAPathThatWouldForgeALine) {
  EXPECT_EQ(code_of(file().trust("/p\n/drover.yaml", one_)), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace drover::cli
