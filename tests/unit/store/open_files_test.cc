// The files of a store are replaced, renamed or deleted under it: nothing is acknowledged that nobody else will see.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "hooks/test_hooks.h"
#include "support/printers.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

namespace fs = std::filesystem;

void remove(const std::string& path) {
  fs::remove(path);
}
void rename_away(const std::string& path) {
  fs::rename(path, path + ".away");
}
// As `cp` to another name and `mv` over it do.
void replace_by_copy(const std::string& path) {
  fs::copy_file(path, path + ".copy");
  fs::rename(path + ".copy", path);
}

struct Harm {
  const char* name;
  const char* file;  // behind the database's path
  void (*done)(const std::string& path);
};

void PrintTo(const Harm& harm, std::ostream* out) {
  *out << harm.name;
}

class OpenFiles : public ::testing::TestWithParam<Harm> {
 protected:
  void harm() const { GetParam().done(path_ + GetParam().file); }
  static Result<Claimed> claim(StoreUnderTest& sut) {
    return sut->claim({.worker_id = "w", .serves = {{"build", {}}}, .n = 1}, std::vector{lease_of(1)}, std::nullopt);
  }

  TempDir dir_;
  std::string path_ = dir_.file("q.db");
};

TEST_P(OpenFiles, NothingIsWrittenOrClaimedAnyMore) {
  StoreUnderTest sut(path_);
  sut.add(1);
  harm();
  const auto refused = sut.try_add({new_record(2)});
  ASSERT_EQ(code_of(refused), ErrorCode::kStoreDamaged);
  EXPECT_NE(refused.error().message.find(path_ + GetParam().file), std::string::npos) << refused.error().message;
  EXPECT_EQ(code_of(claim(sut)), ErrorCode::kStoreDamaged);
  EXPECT_EQ(code_of(sut->read(std::vector{id_of(1)}, Parts::kHead)), ErrorCode::kStoreDamaged);
}

TEST_P(OpenFiles, AnIdleWorkerNotices) {
  StoreUnderTest sut(path_);
  harm();
  EXPECT_EQ(code_of(claim(sut)), ErrorCode::kStoreDamaged);
}

TEST_P(OpenFiles, ThoseWhoLookNotice) {
  StoreUnderTest sut(path_);
  harm();
  EXPECT_EQ(code_of(sut->state()), ErrorCode::kStoreDamaged);
}

// A write that was under way went into the file that is gone.
TEST_P(OpenFiles, ACommitIsNotAcknowledgedIfItHappenedMeanwhile) {
  StoreUnderTest sut(path_);
  sut.add(1);
  set_failpoint_handler([this](std::string_view passed) {
    if (passed == "enqueue.before_commit") harm();
  });
  const auto refused = sut.try_add({new_record(2)});
  set_failpoint_handler({});
  EXPECT_EQ(code_of(refused), ErrorCode::kStoreDamaged);
}

TEST_P(OpenFiles, PuttingTheFileBackIsNotEnough) {
  StoreUnderTest sut(path_);
  const std::string file = path_ + GetParam().file;
  fs::create_hard_link(file, file + ".kept");
  harm();
  EXPECT_EQ(code_of(sut.try_add({new_record(1)})), ErrorCode::kStoreDamaged);
  fs::rename(file + ".kept", file);
  EXPECT_EQ(code_of(sut.try_add({new_record(1)})), ErrorCode::kStoreDamaged);
}

INSTANTIATE_TEST_SUITE_P(
    Harms, OpenFiles,
    ::testing::Values(Harm{"DatabaseDeleted", "", remove}, Harm{"DatabaseRenamed", "", rename_away},
                      Harm{"DatabaseReplaced", "", replace_by_copy}, Harm{"LogDeleted", "-wal", remove},
                      Harm{"LogRenamed", "-wal", rename_away}, Harm{"LogReplaced", "-wal", replace_by_copy},
                      Harm{"IndexDeleted", "-shm", remove}, Harm{"IndexReplaced", "-shm", replace_by_copy},
                      Harm{"LockDeleted", "-lock", remove}, Harm{"LockReplaced", "-lock", replace_by_copy}),
    [](const auto& harm) { return std::string(harm.param.name); });

TEST(OpenFilesOfALink, AreThoseBesideTheDatabaseItself) {
  const TempDir dir;
  fs::create_directory(dir.path() / "real");
  fs::create_symlink(dir.path() / "real" / "q.db", dir.path() / "q.db");
  StoreUnderTest(dir.file("real/q.db")).add(1);
  StoreUnderTest sut(dir.file("q.db"));
  sut.add(2);
  fs::remove(dir.file("real/q.db-wal"));
  EXPECT_EQ(code_of(sut.try_add({new_record(3)})), ErrorCode::kStoreDamaged);
}

}  // namespace
}  // namespace drover::test
