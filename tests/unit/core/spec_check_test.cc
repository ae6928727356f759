#include "core/spec_check.h"

#include <gtest/gtest.h>

#include "support/must.h"

namespace drover {
namespace {

TEST(CheckLeaseLength, TakesWhatQueuesGive) {
  EXPECT_TRUE(check_lease_length(kLeaseMin).has_value());
  EXPECT_TRUE(check_lease_length(kLeaseMax).has_value());
  for (const Millis lease : {Millis{0}, kLeaseMin - Millis{1}, kLeaseMax + Millis{1}}) {
    const Status refused = check_lease_length(lease);
    ASSERT_EQ(test::code_of(refused), ErrorCode::kInvalidArgument) << lease.count();
    EXPECT_NE(refused.error().message.find("between 100ms and 1d"), std::string::npos) << refused.error().message;
  }
}

TEST(CheckWord, TakesWhatMayStandAloneOnACommandLine) {
  for (const std::string& good : {std::string("opus"), std::string("openai/gpt-5:high"), std::string("größer"),
                                  std::string("a -b"), std::string(256, 'x')}) {
    EXPECT_TRUE(check_word(good).has_value()) << good;
  }
  for (const std::string& bad : {std::string(), std::string("-p"), std::string("a\nb"), std::string("a\0b", 3),
                                 std::string("a\x7f"), std::string("\xff"), std::string(257, 'x')}) {
    EXPECT_EQ(test::code_of(check_word(bad)), ErrorCode::kInvalidArgument) << bad;
  }
}

TEST(CheckEdit, SomethingHasToChange) {
  EXPECT_EQ(test::code_of(check_edit({})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(test::code_of(check_edit({.version = "0123456789abcdef"})), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(check_edit({.priority = 1}).has_value());
  EXPECT_TRUE(check_edit({.run_at = Time{}}).has_value());
  EXPECT_TRUE(check_edit({.delay = Millis{0}}).has_value());
  EXPECT_TRUE(check_edit({.payload = "1"}).has_value());
  EXPECT_TRUE(check_edit({.patch = "{}"}).has_value());
  EXPECT_TRUE(check_edit({.tags = std::vector<std::string>{}}).has_value());
}

TEST(CheckEdit, NamesWhatIsWrong) {
  const auto complaint = [](const EditOrder& order) {
    const Status checked = check_edit(order);
    return checked ? "" : checked.error().message.substr(0, checked.error().message.find(':'));
  };
  EXPECT_EQ(complaint({.priority = 10}), "priority");
  EXPECT_EQ(complaint({.delay = Millis{-1}}), "delay");
  EXPECT_EQ(complaint({.run_at = Time{}, .delay = Millis{1}}), "delay");
  EXPECT_EQ(complaint({.tags = std::vector<std::string>{"not ok"}}), "tags");
  EXPECT_EQ(complaint({.payload = "1", .patch = "{}"}), "payload");
  EXPECT_EQ(complaint({.priority = 1, .version = "not a name"}), "version");
}

}  // namespace
}  // namespace drover
