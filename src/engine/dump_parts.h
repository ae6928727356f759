// The lines of a dump, some at a time, each part without a thought of the others. docs/operate/backup.md.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/administration.h"
#include "store/store.h"

namespace drover {

inline constexpr std::string_view kDumpFormat = "drover dump";
inline constexpr int kDumpVersion = 1;
// What the engine keeps that nothing else in a dump says. Tokens stay behind, and health and time are of one place.
inline constexpr std::array kDumpedDocuments{DocumentKind::kHistory, DocumentKind::kPastAlerts, DocumentKind::kViews};
// How many tasks are asked for at once.
inline constexpr std::size_t kDumpIdsMax = 500;

// {"KIND":VALUE} with its end.
[[nodiscard]] std::string dump_line(std::string_view kind, std::string_view value);

// See Administration.
[[nodiscard]] Result<DumpPart> dump_head(Store& store);
[[nodiscard]] Result<DumpIds> dump_ids(Store& store, const std::optional<std::string>& cursor);
[[nodiscard]] Result<DumpPart> dump_tasks(Store& store, std::span<const TaskId> ids);
[[nodiscard]] Result<DumpPart> dump_events(Store& store, std::int64_t after);

}  // namespace drover
