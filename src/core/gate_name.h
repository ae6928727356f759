// The names of gates: `all`, or a kind and what it is about, as in "queue:eng".
//
// A kind is a row of the table here. Everything else makes names with gate_name, takes them apart with parse_gate_name,
// and asks the row what holds for the kind.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "drover/gate.h"

namespace drover {

enum class GateKind : std::uint8_t { kAll, kQueue, kType, kOwner, kLock, kProvider, kSession, kTag, kTree };

struct GateKindInfo {
  // Which tasks ask a gate.
  enum class AskedBy : std::uint8_t {
    kEveryTask,  // by what the task is: its queue, its type, its owner
    kItsTasks,   // by those that carry its name in Task::gates
  };

  std::string_view word;  // "queue"
  AskedBy asked_by = AskedBy::kEveryTask;
  std::string_view section = "gates";  // of the policy document, where its limits are
  std::optional<int> permits{};        // of a gate that nobody has set
  std::string_view permits_why{};      // as its hold says
  std::optional<HoldSource> closer{};  // what closes it beside the operator
};

// Before every task.
inline constexpr std::string_view kAllGate = "all";
// The gate of every owner that has none of its own.
inline constexpr std::string_view kOtherOwnersGate = "owner:*";

// In the order of GateKind.
inline constexpr std::array<GateKindInfo, 9> kGateKinds{{
    {.word = kAllGate},
    {.word = "queue", .section = "queues"},
    {.word = "type", .closer = HoldSource::kBreaker},
    {.word = "owner", .section = "owners"},
    {.word = "lock",
     .asked_by = GateKindInfo::AskedBy::kItsTasks,
     .permits = 1,
     .permits_why = "one task at a time holds a lock"},
    {.word = "provider", .asked_by = GateKindInfo::AskedBy::kItsTasks, .closer = HoldSource::kProvider},
    {.word = "session",
     .asked_by = GateKindInfo::AskedBy::kItsTasks,
     .section = "sessions",
     .permits = 1,
     .permits_why = "one task at a time runs in a session",
     .closer = std::nullopt},
    {.word = "tag", .asked_by = GateKindInfo::AskedBy::kItsTasks},
    {.word = "tree", .asked_by = GateKindInfo::AskedBy::kItsTasks},
}};

[[nodiscard]] constexpr const GateKindInfo& info_of(GateKind kind) {
  return kGateKinds[std::to_underlying(kind)];
}

struct GateName {
  GateKind kind = GateKind::kAll;
  std::string_view subject{};  // "eng"; empty for all. Part of the text that was parsed.

  bool operator==(const GateName&) const = default;
};

// "queue:eng". For every kind but kAll.
[[nodiscard]] std::string gate_name(GateKind kind, std::string_view subject);
// None if it is of no kind. The subject may be any text: check_gate_name says whether it is a name.
[[nodiscard]] std::optional<GateName> parse_gate_name(std::string_view name);
// What a gate of that kind is about; none if it is of another.
[[nodiscard]] std::optional<std::string_view> subject_of(std::string_view name, GateKind kind);
// Sessions are many, so their gates are shown only to those who ask for sessions.
[[nodiscard]] bool is_session_gate(std::string_view name);
// How many tasks may run at once behind a gate that nobody has set; none: any number.
[[nodiscard]] std::optional<int> default_permits(std::string_view name);
// "all, queue:NAME, type:NAME, … or provider:NAME": for help and errors.
[[nodiscard]] std::string gate_name_forms();

}  // namespace drover
