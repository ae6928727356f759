// What doctor found: one line a check, or one for each thing that is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/context.h"
#include "engine/health.h"
#include "engine/open.h"

namespace drover::cli {

enum class DoctorLevel : std::uint8_t { kOk, kWarn, kFail };
[[nodiscard]] std::string_view name_of(DoctorLevel level);

struct DoctorLine {
  DoctorLevel level = DoctorLevel::kOk;
  std::string check;    // what was looked at: "disk"
  std::string subject;  // of which: "queue:eng"; may be empty
  std::string detail;   // what was found
  std::string fix;      // what to type; empty if all is well
};

using DoctorLines = std::vector<DoctorLine>;

// For every answer of a server or of Redis.
inline constexpr Millis kServerPatience{5'000};

// Each group of checks adds its lines. The store's files, or its server, before it is opened.
void check_store_location(const std::string& url, DoctorLines& lines);
void check_database_files(const std::string& path, DoctorLines& lines);
void check_redis_server(const std::string& url, DoctorLines& lines);
// Servers in front of it, with the user's token.
void check_servers(const std::string& urls, const std::string& token, DoctorLines& lines);
// The opened store: answers, clock, losses.
void check_store(OpenedQueue& opened, DoctorLines& lines);
// drover.yaml of this folder: trusted, applied, its programs found.
void check_project(const Context& context, OpenedQueue* opened, DoctorLines& lines);
// The fleet, as the sweeper looks at it, and the versions of its workers.
void check_fleet(OpenedQueue& opened, DoctorLines& lines);

// A check that could not be made, and what to do about it unless the token is the reason.
[[nodiscard]] DoctorLine not_checked(std::string check, const Error& error, std::string fix);

// Pure, for tests.
[[nodiscard]] DoctorLine clock_line(Time here, Time store, std::optional<Time> last_event);
[[nodiscard]] DoctorLines version_lines(const std::vector<WorkerInfo>& workers, std::string_view ours, Time now);
[[nodiscard]] DoctorLines trouble_lines(const std::vector<WorkerInfo>& workers, Time now);
[[nodiscard]] DoctorLine disk_line(const std::string& folder, std::int64_t free_bytes);

}  // namespace drover::cli
