// The suite about itself: every store runs exactly the same cases.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "conformance/queue_fixture.h"

namespace drover::test {
namespace {

struct Registered {
  std::map<std::string, std::set<std::string>> cases_by_store;
  std::set<std::string> strangers;  // tests of this program that run on no store
};

Registered registered_cases() {
  Registered found;
  const ::testing::UnitTest& program = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < program.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *program.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k) {
      const ::testing::TestInfo& test = *suite.GetTestInfo(k);
      const std::string name = test.name();
      const auto slash = name.rfind('/');
      if (slash == std::string::npos) {
        found.strangers.insert(std::string(suite.name()) + "." + name);
      } else {
        found.cases_by_store[name.substr(slash + 1)].insert(std::string(suite.name()) + "." + name.substr(0, slash));
      }
    }
  }
  return found;
}

TEST(EveryStore, RunsExactlyTheSameCases) {
  const auto cases = registered_cases().cases_by_store;
  ASSERT_EQ(cases.size(), queue_fixture_factories().size());
  const auto& expected = cases.begin()->second;
  EXPECT_GT(expected.size(), 200U);
  for (const QueueFixtureFactory& factory : queue_fixture_factories()) {
    const auto it = cases.find(factory.name);
    ASSERT_NE(it, cases.end()) << factory.name << " runs no case";
    EXPECT_EQ(it->second, expected) << factory.name;
  }
}

TEST(EveryStore, NoCaseIsSwitchedOff) {
  for (const auto& [store, cases] : registered_cases().cases_by_store) {
    for (const std::string& name : cases)
      EXPECT_EQ(name.find("DISABLED_"), std::string::npos) << name << " on " << store;
  }
}

TEST(EveryStore, NoCaseIsOutsideTheSuite) {
  for (const std::string& name : registered_cases().strangers) EXPECT_EQ(name.find("EveryStore."), 0U) << name;
}

}  // namespace
}  // namespace drover::test
