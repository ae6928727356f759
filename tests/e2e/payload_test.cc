// Payloads come back exactly as they were given, through the store, a worker, an agent that echoes, and the result.
#include <fmt/format.h>

#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

constexpr std::size_t kMebibyte = 1 << 20;

class PayloadTest : public E2eTest {
 protected:
  // The text that comes back as the result of an agent that prints its input.
  void expect_round_trip(const std::string& given, const std::string& kept) {
    sandbox.write_file("payload.json", given);
    const std::string id = sandbox.enqueue({"echo", "--payload", "@payload.json"});
    work_until_empty("echo", {"/bin/cat"});
    const std::string shown = sandbox.must({"show", id, "--json"});
    EXPECT_TRUE(shown.find("\"payload\":" + kept + ",\"prompt\"") != std::string::npos) << shown.substr(0, 2'000);
    EXPECT_TRUE(shown.find("\"result\":" + kept + ",\"fallback\"") != std::string::npos) << shown.substr(0, 2'000);
    EXPECT_EQ(sandbox.state_of(id), "completed");
  }
};

TEST_F(PayloadTest, KeepsEveryKindOfValue) {
  const std::string payload =
      R"({"z":1,"a":{"nested":[[],{},[{"deep":[null,true,false]}]]},"unicode":"żółw 🐢 \u202e \u0000 \ud83d\ude00 \/",)"
      R"("huge":123456789012345678901234567890,"negative":-98765432109876543210,"big":1e400,"small":1E-400,)"
      R"("money":0.10,"minus_zero":-0,"exponent":1.0E+2,"B":2,"b":3,"":"empty key","tab\t":"\t\n\r\b\f\"\\"})";
  expect_round_trip(payload, payload);
}

TEST_F(PayloadTest, DropsOnlyWhiteSpaceOutsideStrings) {
  expect_round_trip("\n{ \"b\" : [ 1 , 2.50 ] ,\r\n\t\"a\" : \" two  spaces \" }\n",
                    R"({"b":[1,2.50],"a":" two  spaces "})");
}

TEST_F(PayloadTest, KeepsScalars) {
  for (const std::string scalar : {"0.10", "1e400", "\"text\"", "true", "null", "[]", "18446744073709551617"}) {
    expect_round_trip(scalar, scalar);
  }
}

TEST_F(PayloadTest, KeepsAMebibyteOfText) {
  std::string text;
  while (text.size() < kMebibyte - 2 - 4) text += fmt::format("{:07} ż🐢 ", text.size());
  text.resize(kMebibyte - 2);
  while ((static_cast<unsigned char>(text.back()) & 0x80U) != 0) text.pop_back();  // no half character at the end
  text.resize(kMebibyte - 2, 'x');
  expect_round_trip("\"" + text + "\"", "\"" + text + "\"");
}

TEST_F(PayloadTest, RefusesOneByteMore) {
  sandbox.write_file("payload.json", "\"" + std::string(kMebibyte - 1, 'x') + "\"");
  const Outcome outcome = sandbox.drover({"enqueue", "echo", "--payload", "@payload.json"});
  expect_refused(outcome, 1, "payload_too_large");
  EXPECT_EQ(sandbox.must({"list", "--json"}), "[]\n");
}

TEST_F(PayloadTest, TakesThePayloadFromStdin) {
  const std::string id = sandbox.must({"enqueue", "echo", "--payload", "-"}, R"({"n": 0.10})");
  EXPECT_EQ(at(sandbox.show(id.substr(0, id.size() - 1)), "payload"), R"({"n":0.10})");
}

TEST_F(PayloadTest, GivesThePromptWhenThereIsNoPayload) {
  const std::string id = sandbox.enqueue({"echo", "--prompt", "say \"żółw\"\nand go"});
  work_until_empty("echo", {"/bin/cat"});
  EXPECT_EQ(at(sandbox.show(id), "result"), "say \"żółw\"\nand go");
}

}  // namespace
}  // namespace drover::e2e
