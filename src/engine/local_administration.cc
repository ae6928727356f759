#include "engine/local_administration.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/try.h"
#include "engine/dump_parts.h"
#include "engine/health.h"
#include "engine/transfer.h"

namespace drover {
namespace {

constexpr std::size_t kLineBytesMax = 1U << 30;
// Without a piece for so long an import is given up; the store stays as any interrupted import leaves it.
constexpr Millis kImportPatience{600'000};

}  // namespace

struct LocalAdministration::Import {
  Import(Store& store, Engine& engine, Rng& rng) : id(fmt::format("{:016x}", rng.next())), dump(store, engine, rng) {}

  const std::string id;
  DumpImport dump;
  std::string rest;  // of a line whose end has not come yet
  std::int64_t taken_bytes = 0;
  MonoTime used_at = system_clock().mono();

  Status take(std::string_view bytes) {
    taken_bytes += static_cast<std::int64_t>(bytes.size());
    for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
      const std::string_view line = bytes.substr(0, end);
      const Status taken = rest.empty() ? dump.take(line) : dump.take(rest.append(line));
      if (!taken) return taken;
      rest.clear();
      bytes.remove_prefix(end + 1);
    }
    rest.append(bytes);
    if (rest.size() <= kLineBytesMax) return {};
    return fail(ErrorCode::kPayloadTooLarge, fmt::format("a line of the dump has more than {} bytes", kLineBytesMax));
  }
};

LocalAdministration::LocalAdministration(Store& store, Engine& engine, Rng& rng)
    : store_(store), engine_(engine), rng_(rng), tokens_(store, rng) {}

LocalAdministration::~LocalAdministration() = default;

Result<FleetLook> LocalAdministration::look_at_fleet() {
  auto snapshot = TRY(engine_.look_at_health());
  auto alerts = find_alerts(snapshot);
  return FleetLook{.now = snapshot.now, .workers = std::move(snapshot.workers), .alerts = std::move(alerts)};
}

Result<DumpPart> LocalAdministration::dump_head() {
  return drover::dump_head(store_);
}
Result<DumpIds> LocalAdministration::dump_ids(const std::optional<std::string>& cursor) {
  return drover::dump_ids(store_, cursor);
}
Result<DumpPart> LocalAdministration::dump_tasks(std::span<const TaskId> ids) {
  return drover::dump_tasks(store_, ids);
}
Result<DumpConversations> LocalAdministration::dump_conversations(const std::optional<std::string>& cursor) {
  return drover::dump_conversations(store_, cursor);
}

Result<DumpPart> LocalAdministration::dump_events(std::int64_t after) {
  return drover::dump_events(store_, after);
}

Result<std::string> LocalAdministration::begin_import() {
  const std::lock_guard lock(import_mutex_);
  give_up_silent_import();
  if (import_ != nullptr) {
    return fail(ErrorCode::kWrongState,
                fmt::format("another import is under way; it is abandoned if no data arrives for {}",
                            format_duration(kImportPatience)));
  }
  auto import = std::make_unique<Import>(store_, engine_, rng_);
  TRY(import->dump.begin());
  import_ = std::move(import);
  return import_->id;
}

void LocalAdministration::give_up_silent_import() {
  if (import_ != nullptr && system_clock().mono() - import_->used_at > kImportPatience) import_.reset();
}

Result<LocalAdministration::Import*> LocalAdministration::find_import(const std::string& id) {
  give_up_silent_import();
  if (import_ == nullptr || import_->id != id) {
    return fail(ErrorCode::kNotFound, "no such import is under way: it has ended or was abandoned");
  }
  import_->used_at = system_clock().mono();
  return import_.get();
}

Result<DumpCounts> LocalAdministration::import_piece(const std::string& id, std::int64_t offset,
                                                     std::string_view bytes) {
  const std::lock_guard lock(import_mutex_);
  const auto found = TRY(find_import(id));
  Import& import = *found;
  const bool is_repeated = offset + static_cast<std::int64_t>(bytes.size()) <= import.taken_bytes;
  if (!is_repeated && offset != import.taken_bytes) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("the dump must continue at byte {}", import.taken_bytes));
  }
  const Status taken = is_repeated ? Status() : import.take(bytes);
  const DumpCounts counts = import.dump.counts();
  if (!taken) import_.reset();
  TRY(taken);
  return counts;
}

Result<DumpCounts> LocalAdministration::finish_import(const std::string& id) {
  const std::lock_guard lock(import_mutex_);
  TRY(find_import(id));
  const std::unique_ptr<Import> import = std::move(import_);
  // What stands behind the last line end is a line, too.
  const Status taken = import->rest.empty() ? Status() : import->dump.take(import->rest);
  TRY(taken);
  return import->dump.finish();
}

}  // namespace drover
