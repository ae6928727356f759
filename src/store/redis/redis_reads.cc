// Tasks, their runs, events, logs and counts, read from Redis.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/try.h"
#include "core/task_filter.h"
#include "store/page_cursor.h"
#include "store/redis/ledger_text.h"
#include "store/redis/log_pieces.h"
#include "store/redis/pool_names.h"
#include "store/redis/record_text.h"
#include "store/redis/redis_store_class.h"
#include "store/redis/run_text.h"
#include "store/redis/spend_text.h"

namespace drover::redis {
namespace {

constexpr Millis kTrustTimeFor{1'000};
constexpr int kSiftSlice = 500;  // tasks read at once, of which only some are wanted

// As the functions name them.
std::string_view word_of(Parts parts) {
  switch (parts) {
    case Parts::kHead:
      return "head";
    case Parts::kSummary:
      return "summary";
    case Parts::kAll:
      return "all";
  }
  CHECK(false);
}

// ",a,b,": what the functions look a name up in; empty: any will do.
std::string joined(const AnyOf& names) {
  return names ? fmt::format(",{},", fmt::join(names.names(), ",")) : "";
}

}  // namespace

std::optional<Millis> RedisStore::lease_time() const {
  const std::int64_t ahead = lease_time_ahead_ms_.load();
  if (ahead == kNeverHeard) return std::nullopt;
  return Millis(ahead) + clock().mono().since_origin;
}

// If it is later than we said, what we knew keeps its worth, so that no slow answer sets us back. If Redis does not
// believe us, it is no later than it says.
void RedisStore::heard_lease_time(Millis lease_time, std::optional<Millis> said, MonoTime sent, MonoTime heard) {
  const bool believed = !said || lease_time >= *said;
  const std::int64_t ahead = (lease_time - (believed ? heard : sent).since_origin).count();
  std::int64_t known = lease_time_ahead_ms_.load();
  while ((believed ? known < ahead : known > ahead) && !lease_time_ahead_ms_.compare_exchange_weak(known, ahead)) {
  }
}

Result<StoreClocks> RedisStore::ask_clocks() {
  const MonoTime before = clock().mono();
  const std::optional<Millis> said = lease_time();
  const auto reply = TRY(ask(function("clocks")));
  const MonoTime after = clock().mono();
  const auto parts = TRY(reply.as_array_of(2));
  const auto wall = TRY(parts[0].as_integer());
  const auto lease_time = TRY(parts[1].as_integer());
  heard_lease_time(Millis(lease_time), said, before, after);
  step_watch_.look(Time(Millis(wall)), before, after);
  return StoreClocks{.wall = Time(Millis(wall)), .steady = Millis(lease_time), .boot = "", .unsure = after - before};
}

// The server's time, as it was when last asked, and what has passed since. It is for decisions that are applied under
// compare-and-set; whether a lease or a gate's time has run out is decided by the functions, inside Redis.
Result<StoreClocks> RedisStore::clocks() {
  const MonoTime here = clock().mono();
  const bool may_trust = options_.test_clock == nullptr;
  {
    const std::lock_guard lock(known_mutex_);
    if (may_trust && clocks_ && here - clocks_->asked_at < kTrustTimeFor) {
      StoreClocks clocks = clocks_->value;
      clocks.wall += here - clocks_->asked_at;
      clocks.steady += here - clocks_->asked_at;
      return clocks;
    }
  }
  const auto there = ask_clocks();
  if (!there) return there;
  const std::lock_guard lock(known_mutex_);
  clocks_ = Known<StoreClocks>{*there, here};
  return there;
}

Result<Time> RedisStore::now() {
  if (options_.test_clock != nullptr) return options_.test_clock->wall();
  const auto clocks = TRY(this->clocks());
  return clocks.wall;
}

Result<std::vector<std::optional<TaskRecord>>> RedisStore::read(std::span<const TaskId> ids, Parts parts) {
  std::vector<std::optional<TaskRecord>> found;
  if (ids.empty()) return found;
  Command command = function("read");
  command.add(word_of(parts));
  for (const TaskId& id : ids) command.add(id.to_string());
  const auto reply = TRY(ask(command));
  const auto items = TRY(reply.as_array_of(ids.size()));
  for (const Reply& item : items) {
    if (item.is_nil()) {
      found.emplace_back();
      continue;
    }
    auto record = TRY(redis::to_record(item));
    found.emplace_back(std::move(record));
  }
  return found;
}

Result<std::optional<TaskId>> RedisStore::find_request(const std::string& owner, const std::string& request_id) {
  const auto reply = TRY(ask(function("find_request").add(redis::request_key(owner, request_id))));
  const std::optional<std::string_view> id = TRY(reply.as_maybe_text());
  return id ? TaskId::parse(*id) : std::nullopt;
}

Result<DedupeMatches> RedisStore::find_dedupe(const std::string& owner, const std::string& type,
                                              const std::string& key) {
  const auto reply = TRY(ask(function("find_dedupe").add(redis::dedupe_key(owner, type, key))));
  const auto parts = TRY(reply.as_array_of(2));
  DedupeMatches matches;
  if (!parts[0].is_nil()) {
    matches.newest = TRY(redis::to_record(parts[0]));
  }
  const auto unfinished = TRY(parts[1].as_array());
  matches.unfinished = readable(unfinished);
  return matches;
}

// A bounded number of tasks from that seq on, without it, and where to go on; nothing there: that was all.
Result<RedisStore::Slice> RedisStore::list_slice(const TaskFilter& filter, const std::string& from, int limit,
                                                 Parts parts) {
  std::string states;
  for (const TaskState state : filter.states) states += (states.empty() ? "," : "") + std::string(name_of(state)) + ",";
  const auto reply = ask(function("list").add(
      from, limit, joined(filter.type), joined(filter.queue), joined(filter.owner), states, joined(filter.tag),
      filter.parent_id ? filter.parent_id->to_string() : "", word_of(parts), filter.id_prefix.value_or(""),
      filter.order == TaskOrder::kNewestFirst ? "newest" : "oldest"));
  if (!reply) return std::unexpected(reply.error());
  const auto halves = TRY(reply->as_array_of(2));
  const auto items = TRY(halves[0].as_array());
  const auto next = TRY(halves[1].as_text());
  Slice slice{.next = std::string(next)};
  for (const Reply& item : items) {
    const auto fields = TRY(item.as_array_of(2));
    auto record = redis::to_record(fields[1]);
    if (record) {
      slice.found.push_back({std::string(fields[0].as_text().value_or("")), *std::move(record)});
    } else {
      log_error("store", "a task's record is unreadable and is left out", {{"why", record.error().message}});
    }
  }
  return slice;
}

Result<RecordPage> RedisStore::list(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor,
                                    Parts parts) {
  if (limit <= 0) return fail(ErrorCode::kInvalidArgument, "a page holds at least one task");
  const auto first = TRY(parse_page_cursor(cursor, filter.order));
  TaskSieve sieve(filter);
  const Parts sieved = sieve.is_needed() ? sieve.parts() : parts;
  RecordPage page;
  std::string last;  // that is on the page
  std::string from = std::to_string(first);
  std::string looked_at = from;
  bool is_done = false;
  // One more than the page holds tells whether there is another. What is sifted here is read in larger slices, without
  // the bodies unless they are searched.
  while (true) {
    const auto wanted = limit + 1 - static_cast<int>(page.records.size());
    auto slice = TRY(list_slice(filter, from, sieve.is_needed() ? std::max(wanted, kSiftSlice) : wanted, sieved));
    for (auto& [seq, record] : slice.found) {
      if (sieve.has_looked_enough()) {
        page.cursor = looked_at;
        break;
      }
      const bool is_wanted = sieve.takes(record.task);
      if (is_wanted && std::cmp_equal(page.records.size(), limit)) {
        page.cursor = last;
        break;
      }
      looked_at = seq;
      is_done = sieve.is_past_all();
      if (is_done) break;
      if (!is_wanted) continue;
      last = seq;
      page.records.push_back(std::move(record));
    }
    if (page.cursor || is_done || slice.next.empty()) break;
    from = std::move(slice.next);
  }
  page.searched = sieve.searched();
  return sieved < parts ? with_parts(std::move(page), parts) : std::move(page);
}

// The same records with more of them; what has moved on meanwhile is left out.
Result<RecordPage> RedisStore::with_parts(RecordPage heads, Parts parts) {
  std::vector<TaskId> ids;
  for (const TaskRecord& record : heads.records) ids.push_back(record.task.id);
  auto whole = TRY(read(ids, parts));
  RecordPage page{.records = {}, .cursor = std::move(heads.cursor), .searched = heads.searched};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::optional<TaskRecord>& record = whole[i];
    if (record && record->task.state == heads.records[i].task.state) page.records.push_back(*std::move(record));
  }
  return page;
}

Result<std::vector<RunSummary>> RedisStore::runs(const TaskId& id, int limit) {
  const auto reply = TRY(ask(function("runs").add(id.to_string())));
  const auto parts = TRY(reply.as_array_of(2));
  std::vector<RunSummary> runs;
  if (parts[0].is_nil()) return runs;
  const auto record = TRY(redis::to_record(parts[0]));
  const Task& task = record.task;
  if (task.state == TaskState::kRunning) {
    RunSummary current;
    current.run = task.run;
    current.generation = task.generation;
    current.worker_id = task.worker_id.value_or("");
    current.started_at = task.started_at.value_or(Time{});
    current.usage = record.run_usage;
    current.change = task.next;
    runs.push_back(std::move(current));
  }
  auto ended = parts[1].as_text();
  if (!ended) return std::unexpected(ended.error());
  // Newest first; each stands on a line of its own.
  while (!ended->empty() && std::cmp_less(runs.size(), limit)) {
    ended->remove_suffix(1);
    const std::size_t line = ended->rfind('\n') + 1;
    auto run = TRY(redis::parse_run(ended->substr(line)));
    runs.push_back(std::move(run));
    ended = ended->substr(0, line);
  }
  return runs;
}

Result<std::vector<Event>> RedisStore::events(std::int64_t after, int limit) {
  const auto reply = TRY(ask(function("events").add(std::max<std::int64_t>(after, 0), limit)));
  const auto items = TRY(reply.as_array());
  std::vector<Event> events;
  for (std::size_t i = 0; i + 2 < items.size(); i += 3) {
    auto event = TRY(redis::to_event(items.subspan(i)));
    events.push_back(std::move(event));
  }
  return events;
}

Result<std::int64_t> RedisStore::last_task_seq() {
  return ask_number(function("last_task"));
}

Result<std::int64_t> RedisStore::last_event_seq() {
  return ask_number(function("last_event"));
}

Result<LogPage> RedisStore::log(const TaskId& id, const LogQuery& query) {
  const auto reply = TRY(ask(function("log").add(id.to_string(), std::max<std::int64_t>(query.after, 0), query.limit,
                                                 query.run ? std::to_string(*query.run) : "",
                                                 query.before ? std::to_string(*query.before) : "")));
  auto page = TRY(redis::to_log_page(reply));
  if (query.before) std::ranges::reverse(page.records);
  return page;
}

Result<std::vector<std::int64_t>> RedisStore::counts(const std::string& scope) {
  const auto reply = TRY(ask(function("count_scopes").add(scope)));
  const auto scopes = TRY(reply.as_array_of(1));
  const auto states = TRY(scopes[0].as_array_of(kTaskStateCount));
  std::vector<std::int64_t> counts;
  for (const Reply& state : states) {
    const auto count = TRY(state.as_integer());
    counts.push_back(count);
  }
  return counts;
}

Result<std::vector<std::string>> RedisStore::ledger_days() {
  const auto reply = ask(function("ledger_days"));
  if (!reply) return std::unexpected(reply.error());
  const auto items = reply->as_array();
  if (!items) return std::unexpected(items.error());
  std::vector<std::string> days;
  for (const Reply& item : *items) {
    const auto day = item.as_text();
    if (!day) return std::unexpected(day.error());
    days.emplace_back(*day);
  }
  return days;
}

Result<std::vector<SpendEntry>> RedisStore::spend() {
  const auto reply = TRY(ask(function("spend")));
  const auto items = TRY(reply.as_array());
  std::vector<SpendEntry> entries;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const auto field = TRY(items[i].as_text());
    const auto amount = TRY(items[i + 1].as_text());
    if (auto entry = redis::parse_spend_field(field, amount)) entries.push_back(*std::move(entry));
  }
  std::ranges::sort(entries);
  return entries;
}

Result<std::vector<LedgerEntry>> RedisStore::ledger(const std::string& day) {
  const auto reply = ask(function("ledger").add(day));
  if (!reply) return std::unexpected(reply.error());
  const auto items = reply->as_array();
  if (!items) return std::unexpected(items.error());
  std::vector<LedgerEntry> entries;
  for (std::size_t i = 0; i + 1 < items->size(); i += 2) {
    const auto names = (*items)[i].as_text();
    const auto numbers = (*items)[i + 1].as_text();
    if (!names || !numbers) return std::unexpected(!names ? names.error() : numbers.error());
    auto entry = redis::parse_ledger_entry(day, *names, *numbers);
    if (!entry) return std::unexpected(entry.error());
    entries.push_back(*std::move(entry));
  }
  return entries;
}

Result<Backlog> RedisStore::backlog(std::span<const Serve> serves) {
  Backlog backlog;
  for (const Serve& serve : serves) {
    const auto found = TRY(counts((serve.type ? "line:" : "queue:") + line_of(serve)));
    const auto of = [&](TaskState state) { return found[static_cast<std::size_t>(state)]; };
    backlog.waiting += of(TaskState::kPending) + of(TaskState::kStalled) + of(TaskState::kScheduled);
    backlog.running += of(TaskState::kRunning);
    backlog.blocked += of(TaskState::kBlocked);
  }
  return backlog;
}

}  // namespace drover::redis
