#include "worker/shim_protocol.h"

#include <fmt/format.h>

#include <charconv>

namespace drover {
namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

std::string_view name_of(EndedBy by) {
  switch (by) {
    case EndedBy::kItself:
      return "itself";
    case EndedBy::kStop:
      return "stop";
    case EndedBy::kFence:
      return "fence";
  }
  return "itself";
}

std::optional<EndedBy> parse_ended_by(std::string_view name) {
  for (const EndedBy by : {EndedBy::kItself, EndedBy::kStop, EndedBy::kFence}) {
    if (name == name_of(by)) return by;
  }
  return std::nullopt;
}

// The words of a line, taken one after the other.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}

  std::string_view next() {
    const std::size_t end = rest_.find(' ');
    const std::string_view word = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
    return word;
  }
  template <class Int>
  std::optional<Int> next_number() {
    const std::string_view word = next();
    Int value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
    return value;
  }

 private:
  std::string_view rest_;
};

}  // namespace

std::string format_order(const ShimOrder& order) {
  return std::visit(
      Overloaded{
          [](const LeaseUntil& o) { return fmt::format("lease {}\n", o.expires_at.since_origin.count()); },
          [](const StopWithin& o) { return fmt::format("stop {}\n", o.grace.count()); },
          [](const InterruptAgent&) { return std::string("interrupt\n"); },
          [](const OutputClosed&) { return std::string("output_closed\n"); },
      },
      order);
}

std::string format_report(const ShimReport& report) {
  return std::visit(Overloaded{
                        [](const AgentStarted& r) { return fmt::format("started {}\n", r.pid); },
                        [](const SpawnFailed& r) { return fmt::format("spawn_failed {}\n", r.error_number); },
                        [](const AgentExited& r) { return fmt::format("exited {} {}\n", r.code, name_of(r.by)); },
                        [](const AgentKilled& r) { return fmt::format("killed {} {}\n", r.signal, name_of(r.by)); },
                    },
                    report);
}

std::optional<ShimOrder> parse_order(std::string_view line) {
  Words words(line);
  const std::string_view verb = words.next();
  if (verb == "output_closed") return OutputClosed{};
  if (verb == "interrupt") return InterruptAgent{};
  const auto number = words.next_number<std::int64_t>();
  if (!number) return std::nullopt;
  if (verb == "lease") return LeaseUntil{{Millis(*number)}};
  if (verb == "stop") return StopWithin{Millis(*number)};
  return std::nullopt;
}

std::optional<ShimReport> parse_report(std::string_view line) {
  Words words(line);
  const std::string_view verb = words.next();
  const auto number = words.next_number<int>();
  if (!number) return std::nullopt;
  if (verb == "started") return AgentStarted{*number};
  if (verb == "spawn_failed") return SpawnFailed{*number};
  const auto by = parse_ended_by(words.next());
  if (!by) return std::nullopt;
  if (verb == "exited") return AgentExited{*number, *by};
  if (verb == "killed") return AgentKilled{*number, *by};
  return std::nullopt;
}

std::vector<std::string> LineReader::feed(std::string_view bytes) {
  rest_.append(bytes);
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
    lines.push_back(rest_.substr(begin, end - begin));
    begin = end + 1;
  }
  rest_.erase(0, begin);
  return lines;
}

}  // namespace drover
