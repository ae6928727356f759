#include "store/redis/library.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "core/gate_name.h"
#include "embedded/redis.h"
#include "store/redis/inner_result.h"
#include "store/redis/step_arguments.h"

namespace drover::redis {
namespace {

// In this order: each file uses what stands before it. The first ones share their names with all others.
constexpr std::array kShared{embedded::_0_keys_lua, embedded::_1_call_lua, embedded::_1_record_lua,
                             embedded::_3_lanes_lua};
constexpr std::array kParts{
    embedded::_1_clock_lua,        embedded::_1_kept_lua,      embedded::_1_events_lua,    embedded::_2_budgets_lua,
    embedded::_2_gates_lua,        embedded::_2_ledger_lua,    embedded::_2_questions_lua, embedded::_3_wake_lua,
    embedded::_4_claim_lua,        embedded::_5_steps_lua,     embedded::e_apply_lua,      embedded::_6_leases_lua,
    embedded::_7_reads_lua,        embedded::_8_sweeps_lua,    embedded::_9_fleet_lua,     embedded::_9_findings_lua,
    embedded::a_fsck_record_lua,   embedded::a_fsck_lanes_lua, embedded::a_fsck_lua,       embedded::a_fsck_logs_lua,
    embedded::c_epoch_lua,         embedded::d_restore_lua,    embedded::f_ends_lua,       embedded::g_adds_lua,
    embedded::h_conversations_lua, embedded::b_register_lua,
};

// What C++ says, and says alone.
std::string constants() {
  std::string states;
  std::string is_state;
  std::string is_terminal_state;
  for (int i = 0; i < kTaskStateCount; ++i) {
    const auto state = static_cast<TaskState>(i);
    states += fmt::format("'{}', ", name_of(state));
    is_state += fmt::format("{} = true, ", name_of(state));
    if (is_terminal(state)) is_terminal_state += fmt::format("{} = true, ", name_of(state));
  }
  std::string default_limits;
  for (const GateKindInfo& kind : kGateKinds) {
    const GateLimits limits{.closed_until = std::nullopt, .permits = kind.permits};
    if (kind.permits) default_limits += fmt::format("{} = '{}', ", kind.word, limits_text(limits));
  }
  return fmt::format(
      "local STATES, IS_STATE, IS_TERMINAL = {{{}}}, {{{}}}, {{{}}}\n"
      "local INNER_RESULT_MAX, DEFAULT_LIMITS = {}, {{{}}}\n",
      states, is_state, is_terminal_state, kInnerResultBytesMax, default_limits);
}

}  // namespace

std::string library_name(LibraryClock clock) {
  return clock == LibraryClock::kCaller ? "drover_test" : "drover";
}

std::string library_text(LibraryClock clock) {
  std::string text =
      fmt::format("#!lua name={0}\nlocal LIBRARY = '{0}'\nlocal VERSION = '{1}'\nlocal TEST_CLOCK = {2}\n",
                  library_name(clock), to_string(kLibraryVersion), clock == LibraryClock::kCaller);
  text += constants();
  for (const std::string_view part : kShared) text += part;
  for (const std::string_view part : kParts)
    text += fmt::format("do local function part()\n{}\nend part() end\n", part);
  return text;
}

}  // namespace drover::redis
