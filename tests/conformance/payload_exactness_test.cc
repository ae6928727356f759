// What is given comes back byte for byte; only white space outside strings goes.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class PayloadExactness : public ConformanceTest {
 protected:
  // As payload, fallback, checkpoint and result alike; before and after a restart.
  void expect_exact(const JsonText& given, const JsonText& kept) {
    const TaskId id = enqueue({.type = "work", .payload = given, .fallback_result = given});
    const ClaimedTask claimed = claim_one();
    EXPECT_EQ(claimed.task.payload, kept);
    must(queue().checkpoint(claimed.lease, given));
    complete(claimed.lease, given);
    const auto check = [&] {
      const Task task = get(id);
      EXPECT_EQ(task.payload, kept);
      EXPECT_EQ(task.fallback_result, kept);
      EXPECT_EQ(task.checkpoint, kept);
      EXPECT_EQ(task.result, kept);
    };
    check();
    reopen();
    check();
  }
  void expect_exact(const JsonText& text) { expect_exact(text, text); }
};
ON_EVERY_STORE(PayloadExactness);

TEST_P(PayloadExactness, Unicode) {
  expect_exact(R"({"text":"grüße, 世界, 🐑, \u00e9, \ud83d\ude00, e\u0301"})");
}

TEST_P(PayloadExactness, EscapesStayAsWritten) {
  expect_exact(R"(["\/","/","\u002f","\n\t\"\\","\u0000","\u000a"])");
}

TEST_P(PayloadExactness, Nesting) {
  std::string deep;
  for (int i = 0; i < 31; ++i) deep += R"({"k":[)";
  deep += "1";
  for (int i = 0; i < 31; ++i) deep += "]}";
  expect_exact(deep);
}

TEST_P(PayloadExactness, NumbersKeepTheirText) {
  expect_exact(R"([0.10,1e400,-0,-0.0,1E5,1e+5,100,1.0,123456789012345678901234567890,-99999999999999999999,)"
               R"(0.1000000000000000055511151231257827,1e-400,9007199254740993])");
}

TEST_P(PayloadExactness, KeysKeepTheirOrder) {
  expect_exact(R"({"z":1,"a":2,"10":3,"9":4,"":5,"A":6})");
}

TEST_P(PayloadExactness, EveryKindOfValueAtTheTop) {
  for (const char* text : {"null", "true", "false", "0", R"("")", "[]", "{}", "[[]]", "[{}]", "1e400"})
    expect_exact(text);
}

TEST_P(PayloadExactness, WhiteSpaceOutsideStringsGoes) {
  expect_exact(" { \"a b\" :\t[ 1 ,\r\n \" x  y \" ] } \n", R"({"a b":[1," x  y "]})");
}

TEST_P(PayloadExactness, OneMebibyteOfText) {
  expect_exact('"' + std::string((1 << 20) - 2, 'x') + '"');
}

TEST_P(PayloadExactness, NullIsNotNothing) {
  const TaskId with = enqueue({.type = "work", .payload = "null"});
  const TaskId without = enqueue_work();
  EXPECT_EQ(get(with).payload, "null");
  EXPECT_EQ(get(without).payload, std::nullopt);
}

TEST_P(PayloadExactness, PromptsKeepEveryByte) {
  const std::string text = std::string("line\r\n\ttab \0 nul ", 17) + "grüße 🐑 \"quoted\" \\ end\n";
  const Task task = get(enqueue({.type = "work", .prompt = text, .system_prompt = ""}));
  EXPECT_EQ(task.prompt, text);
  EXPECT_EQ(task.system_prompt, "");
}

TEST_P(PayloadExactness, OutputKeepsEveryByte) {
  const Lease lease = start_work();
  const std::string text = std::string("a\0b\r\n\x1b[31mred", 13);
  must(queue().append_log(lease, std::vector<LogChunk>{{LogStream::kOut, text}}));
  EXPECT_EQ(log_text(lease.task), text);
}

}  // namespace
}  // namespace drover::test
