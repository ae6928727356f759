// Random documents, seeded: what config apply would store reads back as the same policy.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/rng.h"
#include "policy/document.h"

namespace drover {
namespace {

constexpr std::uint64_t kDocuments = 300;

// One line of YAML for a member, or nothing.
class Writer {
 public:
  explicit Writer(Rng& rng) : rng_(rng) {}

  void line(int indent, std::string_view text) {
    out_ += std::string(static_cast<std::size_t>(indent), ' ') + std::string(text) + "\n";
  }
  void maybe(int indent, std::string_view text) {
    if (rng_.below(2) == 0) line(indent, text);
  }
  std::string one_of(std::initializer_list<std::string_view> words) {
    return std::string(*(words.begin() + rng_.below(words.size())));
  }
  std::int64_t number(std::int64_t min, std::int64_t max) {
    return min + static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(max - min + 1)));
  }
  std::string duration() { return fmt::format("{}{}", number(1, 1'000), one_of({"ms", "s", "m", "h", "d"})); }
  std::string take() { return std::move(out_); }

 private:
  Rng& rng_;
  std::string out_;
};

void write_type(Writer& out) {
  out.line(2, fmt::format("{}{}:", out.one_of({"eng", "5", "true", "a.b:c@d-e_"}), out.number(0, 1'000'000)));
  out.line(4, fmt::format("max_attempts: {}", out.number(1, 1'000'000)));
  out.maybe(4, fmt::format("queue: {}", out.one_of({"q", "'7'", "\"null\"", "agent.x"})));
  out.maybe(4, fmt::format("priority: {}", out.one_of({"0", "9", "high", "background", "'3'"})));
  out.maybe(4, fmt::format("max_stalls: {}", out.number(0, 20)));
  out.maybe(4, fmt::format("max_defers: {}", out.number(0, 20)));
  out.maybe(
      4, fmt::format("retry: {}", out.one_of({"\"exponential:1s,2,300s\"", "fixed:1s", "list:1s,2s", "linear:60ms"})));
  out.maybe(4, fmt::format("timeout: {}", out.duration()));
  out.maybe(4, fmt::format("idle_timeout: '{}'", out.duration()));
  out.maybe(4, fmt::format("deadline: {}", out.duration()));
  out.maybe(4, fmt::format("on_parent_failure: {}", out.one_of({"cancel", "fail", "run"})));
  out.maybe(4, fmt::format("at_most_once: {}", out.one_of({"true", "false", "True"})));
  out.maybe(4, fmt::format("provider: {}", out.one_of({"p", "'1'"})));
  out.maybe(4, fmt::format("breaker: {}", out.one_of({"off", "'off'", "{failures: 7, open: 3m}"})));
  out.maybe(4, fmt::format("errors: {{{}: {{action: {}, timeout_factor: {}.{}}}, lost: {{alert: true}}}}",
                           out.one_of({"timeout", "oom", "agent_error"}), out.one_of({"retry", "defer", "fail"}),
                           out.number(1, 99), out.number(0, 999)));
}

std::string random_document(Rng& rng) {
  Writer out(rng);
  out.line(0, "types:");
  for (std::uint64_t i = rng.below(5); i > 0; --i) write_type(out);
  out.line(0, "queues:");
  out.maybe(2, fmt::format("eng: {{permits: {}, rate: {}/{}, burst: {}, reserve: {{priority: low}}}}",
                           out.number(0, 1'000'000), out.number(1, 1'000), out.one_of({"s", "min", "7h"}),
                           out.number(1, 1'000)));
  out.line(0, "owners:");
  out.maybe(2, fmt::format("team: {{weight: {}}}", out.number(1, 1'000)));
  out.maybe(2, fmt::format("default: {{permits: {}}}", out.number(0, 9)));
  out.line(0, "gates:");
  out.maybe(2, fmt::format("'provider:p': {{permits: {}}}", out.number(0, 9)));
  out.line(0, "limits:");
  out.maybe(2, fmt::format("max_waiting: {}", out.number(1, 1'000'000'000)));
  out.maybe(2, fmt::format("payload_bytes: {}{}", out.number(1, 1'000), out.one_of({"", "B", "KiB"})));
  out.maybe(2, fmt::format("retention_bytes: {}{}", out.number(1, 1'000), out.one_of({"MiB", "GiB"})));
  out.maybe(2, fmt::format("retention: {}", out.duration()));
  out.maybe(2, fmt::format("event_retention: {}", out.duration()));
  out.maybe(0, "store: 'memory:'");
  out.maybe(0, "local: {log: {level: debug}}");
  return out.take();
}

TEST(DocumentProperty, SharedReadsBackAsTheSamePolicy) {
  for (std::uint64_t seed = 1; seed <= kDocuments; ++seed) {
    SeededRng rng(seed);
    const std::string text = random_document(rng);
    const auto document = parse_document(text, "drover.yaml");
    // Two types of one name are a mistake of the generator, and refused as they should be.
    if (!document) {
      ASSERT_NE(document.error().message.find("is given twice"), std::string::npos) << to_string(document.error());
      continue;
    }
    const auto policy = parse_policy(document->shared);
    ASSERT_TRUE(policy) << to_string(policy.error()) << "\n" << document->shared;
    ASSERT_EQ(*policy, document->policy) << "seed " << seed << "\n" << text << document->shared;
    // Canonical: reading it again changes nothing, and it is JSON.
    const auto again = parse_document(document->shared, "stored");
    ASSERT_TRUE(again);
    ASSERT_EQ(again->shared, document->shared);
    ASSERT_EQ(json::compact(document->shared), document->shared);
  }
}

}  // namespace
}  // namespace drover
