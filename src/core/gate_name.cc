#include "core/gate_name.h"

#include <fmt/format.h>

#include <vector>

#include "base/check.h"
#include "base/text.h"

namespace drover {

// Made for every task that waits: without a formatter.
std::string gate_name(GateKind kind, std::string_view subject) {
  CHECK(kind != GateKind::kAll);
  const std::string_view word = info_of(kind).word;
  std::string name;
  name.reserve(word.size() + 1 + subject.size());
  return name.append(word).append(1, ':').append(subject);
}

std::optional<GateName> parse_gate_name(std::string_view name) {
  if (name == kAllGate) return GateName{};
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view word = name.substr(0, colon);
  for (std::size_t i = 0; i < kGateKinds.size(); ++i) {
    const auto kind = static_cast<GateKind>(i);
    if (kind != GateKind::kAll && word == kGateKinds[i].word) return GateName{kind, name.substr(colon + 1)};
  }
  return std::nullopt;
}

std::optional<std::string_view> subject_of(std::string_view name, GateKind kind) {
  const auto parsed = parse_gate_name(name);
  if (!parsed || parsed->kind != kind) return std::nullopt;
  return parsed->subject;
}

bool is_session_gate(std::string_view name) {
  return subject_of(name, GateKind::kSession).has_value();
}

std::optional<int> default_permits(std::string_view name) {
  const auto parsed = parse_gate_name(name);
  return parsed ? info_of(parsed->kind).permits : std::nullopt;
}

std::string gate_name_forms() {
  std::vector<std::string> forms{std::string(kAllGate)};
  for (const GateKindInfo& info : kGateKinds) {
    const std::string_view subject = info.section == "sessions" ? "OWNER::NAME" : "NAME";
    if (info.word != kAllGate) forms.push_back(fmt::format("{}:{}", info.word, subject));
  }
  return fmt::format("{} or {}", fmt::join(forms.begin(), forms.end() - 1, ", "), forms.back());
}

namespace {

// A session's own name has no colon, so that no two owners share a gate, whatever they are called.
bool is_session(std::string_view subject) {
  const std::size_t colon = subject.rfind(':');
  if (colon == std::string_view::npos || colon < 2 || subject[colon - 1] != ':') return false;
  return is_name(subject.substr(0, colon - 1)) && is_name(subject.substr(colon + 1));
}

bool is_subject(const GateName& name) {
  if (name.kind == GateKind::kAll) return true;
  return name.kind == GateKind::kSession ? is_session(name.subject) : is_name(name.subject);
}

}  // namespace

Status check_gate_name(std::string_view name) {
  const auto parsed = parse_gate_name(name);
  if (parsed && is_subject(*parsed)) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} is not a gate; a gate is {}", quoted_excerpt(name), gate_name_forms()));
}

}  // namespace drover
