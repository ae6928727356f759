#include <gtest/gtest.h>

#include "cli/doctor/line.h"

namespace drover::cli {
namespace {

constexpr Time kDoctorNow{Millis{1'000'000'000}};

TEST(DoctorClockTest, SmallDifferencesAreNothing) {
  EXPECT_EQ(clock_line(kDoctorNow, kDoctorNow + Millis{4'999}, kDoctorNow).level, DoctorLevel::kOk);
  EXPECT_EQ(clock_line(kDoctorNow, kDoctorNow, std::nullopt).level, DoctorLevel::kOk);
  EXPECT_EQ(clock_line(kDoctorNow, kDoctorNow, kDoctorNow - Millis{3'600'000}).level, DoctorLevel::kOk)
      << "the last event is long ago";
}

TEST(DoctorClockTest, LargeOnesAreToldWithTheirDirection) {
  EXPECT_EQ(clock_line(kDoctorNow + Millis{5'000}, kDoctorNow, std::nullopt).level, DoctorLevel::kWarn);
  const DoctorLine behind = clock_line(kDoctorNow - Millis{60'000}, kDoctorNow, std::nullopt);
  EXPECT_EQ(behind.level, DoctorLevel::kFail);
  EXPECT_EQ(behind.detail, "this machine's clock is 1m behind the store's");
  EXPECT_EQ(clock_line(kDoctorNow, kDoctorNow, kDoctorNow + Millis{7'199'964}).detail,
            "the last event is 2h ahead of the store's clock");
  EXPECT_EQ(clock_line(kDoctorNow, kDoctorNow, kDoctorNow + Millis{120'000}).detail,
            "the last event is 2m ahead of the store's clock");
}

TEST(DoctorNotCheckedTest, AdvisesNoRepairOfWhatIsOnlyOutOfReach) {
  const std::string repair = "drover fsck";
  EXPECT_EQ(not_checked("clock", {ErrorCode::kStoreDamaged, "odd", ""}, repair).fix, repair);
  EXPECT_TRUE(not_checked("clock", {ErrorCode::kStoreUnavailable, "gone", ""}, repair).fix.contains("reached"));
  const DoctorLine forbidden = not_checked("clock", {ErrorCode::kForbidden, "no", ""}, repair);
  EXPECT_EQ(forbidden.level, DoctorLevel::kWarn);
  EXPECT_TRUE(forbidden.fix.contains("token"));
}

TEST(DoctorDiskTest, LowIsAWarningAndFullFails) {
  EXPECT_EQ(disk_line("/x", 512LL << 20).level, DoctorLevel::kOk);
  EXPECT_EQ(disk_line("/x", (512LL << 20) - 1).level, DoctorLevel::kWarn);
  EXPECT_EQ(disk_line("/x", (64LL << 20) - 1).level, DoctorLevel::kFail);
}

TEST(DoctorVersionTest, TheNewestInUseIsTheMeasure) {
  const auto worker = [](std::string id, std::string version) {
    return WorkerInfo{.id = std::move(id), .version = std::move(version), .last_beat_at = kDoctorNow};
  };
  EXPECT_EQ(version_lines({worker("a", "1.9.0")}, "1.9.0", kDoctorNow).at(0).level, DoctorLevel::kOk);
  const DoctorLines lines = version_lines({worker("a", "1.9.0"), worker("b", "1.12.0")}, "1.10.0", kDoctorNow);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].subject, "worker:a");
  EXPECT_EQ(lines[1].subject, "this program");
  const auto silent = version_lines({worker("a", "0.1")}, "1.0", kDoctorNow + Millis{31'000});
  EXPECT_EQ(silent.at(0).level, DoctorLevel::kOk) << "one that is gone needs no upgrade";
}

TEST(DoctorTroubleTest, WhatAWorkerCannotRunIsNamed) {
  const WorkerInfo worker{.id = "a",
                          .version = "1",
                          .serves = {{"eng", "build", "cannot run ./build: No such file"}, {"eng", "test"}},
                          .last_beat_at = kDoctorNow};
  const DoctorLines lines = trouble_lines({worker}, kDoctorNow);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].level, DoctorLevel::kFail);
  EXPECT_EQ(lines[0].subject, "worker:a");
  EXPECT_EQ(lines[0].detail, "takes no tasks of type build: cannot run ./build: No such file");
  EXPECT_TRUE(trouble_lines({worker}, kDoctorNow + Millis{31'000}).empty()) << "it is gone";
}

}  // namespace
}  // namespace drover::cli
