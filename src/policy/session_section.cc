#include "policy/session_section.h"

#include <array>

#include "base/try.h"
#include "core/session_record.h"
#include "core/spec_check.h"
#include "policy/config_values.h"

namespace drover {
namespace {

constexpr std::size_t kPreflightBytesMax = 64 * 1024;

Result<std::string> preflight_of(const ConfigNode& node) {
  auto text = TRY(node.text());
  if (text.empty() || text.size() > kPreflightBytesMax) {
    return node.error(fmt::format("expected 1 to {} bytes, not {}", kPreflightBytesMax, text.size()));
  }
  return text;
}

constexpr auto kSessionFields = std::to_array<ConfigField<SessionPolicy>>({
    {"preflight", [](SessionPolicy& s, const ConfigNode& n) { return put(preflight_of(n), s.preflight); }},
    {"idle", [](SessionPolicy& s, const ConfigNode& n) { return put(n.time_limit(), s.idle); }},
});

}  // namespace

Status read_sessions(Policy& policy, const ConfigNode& node) {
  return node.members([&](const std::string& name, const ConfigNode& value) -> Status {
    if (const auto status = check_session_name(name); !status) return value.error(status.error());
    return read_fields(value, kSessionFields, policy.sessions[name]);
  });
}

}  // namespace drover
