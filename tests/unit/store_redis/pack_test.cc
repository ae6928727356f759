#include "store/redis/pack.h"

#include <gtest/gtest.h>

#include "support/redis_server.h"

namespace drover::redis {
namespace {

// What Redis makes of a list: each element as it prints it.
std::vector<std::string> unpacked(const Pack& pack) {
  constexpr std::string_view kScript = R"(
local texts = {}
for i, value in ipairs(cmsgpack.unpack(ARGV[1])) do
  texts[i] = type(value) == 'number' and string.format('%.0f', value) or tostring(value)
end
return texts)";
  const Reply reply = test::shared_redis().run(Command("EVAL", kScript, 0, pack.list()));
  std::vector<std::string> texts;
  for (const Reply& text : *reply.as_array()) texts.emplace_back(*text.as_text());
  return texts;
}

TEST(PackTest, RedisReadsWhatWasPut) {
  Pack pack;
  pack.put("t").put(0).put(127).put(128).put(std::int64_t{1} << 52).put(-1).put(true).put(false).put("");
  EXPECT_EQ(unpacked(pack),
            (std::vector<std::string>{"t", "0", "127", "128", "4503599627370496", "-1", "true", "false", ""}));
}

TEST(PackTest, TextsOfEveryLength) {
  for (const std::size_t bytes : {31U, 32U, 255U, 256U, 65'535U, 65'536U, 2'000'000U}) {
    const std::string text(bytes, '\xff');
    Pack pack;
    pack.put(text).put("after");
    EXPECT_EQ(unpacked(pack), (std::vector<std::string>{text, "after"})) << bytes;
  }
}

TEST(PackTest, OfSeveralIsTheListOfThemAll) {
  Pack first;
  first.put("a").put(1);
  Pack second;
  second.put("b");
  Pack both;
  both.put(first).put(second);
  EXPECT_EQ(unpacked(both), (std::vector<std::string>{"a", "1", "b"}));
}

TEST(PackTest, OfNothing) {
  EXPECT_TRUE(unpacked(Pack()).empty());
}

}  // namespace
}  // namespace drover::redis
