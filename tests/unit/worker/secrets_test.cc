#include "worker/secrets.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

const std::vector<std::string> kNames{"KEY", "LONG_KEY", "SHORT", "QUOTED", "GONE"};
const std::vector<std::string> kEnvironment{"KEY=abcdefgh", "LONG_KEY=abcdefghijkl", "SHORT=1234567",
                                            "QUOTED=pass\"word\\1", "KEYS=not this one"};

TEST(Secrets, AreHiddenWhereverTheyStand) {
  const Secrets secrets(kNames, kEnvironment);
  EXPECT_EQ(secrets.hide("KEY=abcdefgh."), "KEY=***KEY***.");
  EXPECT_EQ(secrets.hide("abcdefghijklabcdefghi"), "***LONG_KEY******KEY***i");
  EXPECT_EQ(secrets.hide("too short: 1234567"), "too short: 1234567");
  EXPECT_EQ(secrets.hide(R"(pass"word\1 {"p":"pass\"word\\1"})"), R"(***QUOTED*** {"p":"***QUOTED***"})");
  EXPECT_EQ(Secrets().hide("abcdefgh"), "abcdefgh");
}

TEST(SecretStream, HidesWhatIsCutAnywhere) {
  const Secrets secrets(kNames, kEnvironment);
  const std::string text = "x abcdefgh abcdefghijkl abcdabcdefghijabcdefghabcdefghijkl y abcdefg";
  const std::string expected = secrets.hide(text);
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      SecretStream stream;
      std::string shown = stream.feed(secrets, text.substr(0, first));
      shown += stream.feed(secrets, text.substr(first, second - first));
      shown += stream.feed(secrets, text.substr(second));
      shown += stream.finish(secrets);
      ASSERT_EQ(shown, expected) << "cut at " << first << " and " << second;
    }
  }
}

TEST(SecretStream, HoldsBackNothingThatCannotBeASecret) {
  const Secrets secrets(kNames, kEnvironment);
  SecretStream stream;
  EXPECT_EQ(stream.feed(secrets, "working abc"), "working ");
  EXPECT_EQ(stream.feed(secrets, " ok"), "abc ok");
}

}  // namespace
}  // namespace drover
