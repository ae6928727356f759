#include "store/redis/library.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "embedded/redis.h"

namespace drover::redis {
namespace {

// In this order: each file uses what stands before it. The first ones share their names with all others.
constexpr std::array kShared{embedded::_1_call_lua, embedded::_3_lanes_lua};
constexpr std::array kParts{
    embedded::_1_clock_lua,    embedded::_1_kept_lua,       embedded::_1_events_lua, embedded::_2_gates_lua,
    embedded::_3_wake_lua,     embedded::_4_claim_lua,      embedded::_5_steps_lua,  embedded::e_apply_lua,
    embedded::_6_leases_lua,   embedded::_7_reads_lua,      embedded::_8_sweeps_lua, embedded::_9_fleet_lua,
    embedded::_9_findings_lua, embedded::a_fsck_record_lua, embedded::a_fsck_lua,    embedded::a_fsck_logs_lua,
    embedded::c_epoch_lua,     embedded::d_restore_lua,     embedded::f_ends_lua,    embedded::g_adds_lua,
    embedded::b_register_lua,
};

}  // namespace

std::string library_name(LibraryClock clock) {
  return clock == LibraryClock::kCaller ? "drover_test" : "drover";
}

std::string library_text(LibraryClock clock) {
  std::string text =
      fmt::format("#!lua name={0}\nlocal LIBRARY = '{0}'\nlocal VERSION = '{1}'\nlocal TEST_CLOCK = {2}\n",
                  library_name(clock), to_string(kLibraryVersion), clock == LibraryClock::kCaller);
  for (const std::string_view part : kShared) text += part;
  for (const std::string_view part : kParts) text += fmt::format("do\n{}\nend\n", part);
  return text;
}

}  // namespace drover::redis
