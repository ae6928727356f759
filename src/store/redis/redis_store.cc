#include "store/redis/redis_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <map>
#include <mutex>
#include <ranges>
#include <set>
#include <tuple>

#include "base/check.h"
#include "base/json.h"
#include "base/log.h"
#include "base/sha256.h"
#include "core/lane.h"
#include "core/task_filter.h"
#include "store/page_cursor.h"
#include "store/redis/log_pieces.h"
#include "store/redis/record_text.h"
#include "store/redis/redis_store_class.h"
#include "store/redis/reply_error.h"
#include "store/redis/run_text.h"
#include "store/redis/server_checks.h"
#include "store/redis/step_arguments.h"

namespace drover::redis {
namespace {

constexpr Millis kLookEvery{50};  // for changes that others made
constexpr Millis kTrustTimeFor{1'000};
constexpr Millis kMendEvery{10'000};  // at most: a repair looks at every key
constexpr int kSiftSlice = 500;       // tasks read at once, of which only some are wanted

// A worker's lines: the queue, or one type of it.
std::string line_of(const Serve& serve) {
  return serve.type ? serve.queue + "|" + *serve.type : serve.queue;
}

// The lines that are served together, in one order whoever names them.
std::vector<std::string> lines_of(std::span<const Serve> serves) {
  std::set<std::string> lines;
  for (const Serve& serve : serves) lines.insert(line_of(serve));
  return {lines.begin(), lines.end()};
}

std::string pool_of(std::span<const std::string> lines) {
  if (lines.size() == 1) return lines.front();
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return "pool:" + sha256_hex(all).substr(0, 16);
}

void pack_note(redis::Pack& pack, const Note& note, std::int64_t log_bytes_max) {
  pack.put(note.lease.task.to_string()).put(note.lease.id.to_string());
  if (note.progress) {
    json::Writer data;
    data.begin_object().key("percent").number(note.progress->percent);
    data.key("message").string(note.progress->message).end_object();
    pack.put(redis::to_text(*note.progress)).put(std::move(data).take());
  } else {
    pack.put(false).put(false);
  }
  if (note.checkpoint) {
    pack.put(*note.checkpoint);
  } else {
    pack.put(false);
  }
  redis::pack_log_pieces(pack, note.log, log_bytes_max);
}

}  // namespace

// ---- calling

redis::ClientOptions RedisStore::client_options() {
  redis::ClientOptions options;
  options.address = options_.address;
  options.connect_timeout = options_.connect_timeout;
  options.call_timeout = options_.call_timeout;
  options.on_connect = [this](redis::Connection& connection, const Patience& patience) {
    const auto report = redis::check_server(connection, patience);
    if (!report) return Status(std::unexpected(report.error()));
    const Status loaded =
        redis::ensure_library(connection, redis::library_text(clock_kind()), redis::kLibraryVersion, patience);
    return loaded ? look(connection, report->run_id, patience) : loaded;
  };
  return options;
}

Status RedisStore::open() {
  auto time = ask_time();
  if (!time) return std::unexpected(time.error());
  return {};
}

Command RedisStore::function(std::string_view name) const {
  Command command("FCALL", library_ + "_" + std::string(name), 1, key_);
  if (options_.test_clock != nullptr) {
    command.add(options_.test_clock->wall().time_since_epoch().count());
  } else {
    command.add("");
  }
  return command;
}

Result<Reply> RedisStore::ask(Client& client, const Command& command) {
  auto reply = client.call(command);
  if (reply && reply->is_error()) return std::unexpected(failure(*reply));
  return reply;
}

Error RedisStore::failure(const Reply& error_reply) {
  if (!redis::is_function_broken_off(error_reply)) return redis::error_of(error_reply);
  const bool mended = mend(error_reply.error_text());
  return {
      ErrorCode::kStoreUnavailable,
      fmt::format("a call came upon damage and broke off; it may have taken effect; {}: {}",
                  mended ? "the store is repaired" : "drover fsck --repair mends the store", error_reply.error_text()),
      "redis.call"};
}

bool RedisStore::mend(std::string_view why) {
  const std::lock_guard lock(mend_mutex_);
  const MonoTime here = system_clock().mono();
  if (mended_at_ && here - *mended_at_ < kMendEvery) return false;
  mended_at_ = here;
  const auto reply = client_.call(function("fsck").add("repair"));
  const auto findings = reply ? reply->as_array() : std::unexpected(reply.error());
  if (!findings) {
    log_error("store", "damage in Redis could not be repaired",
              {{"why", std::string(why)}, {"error", to_string(findings.error())}});
    return false;
  }
  log_error("store", "damage in Redis was repaired from the tasks",
            {{"why", std::string(why)}, {"findings", std::to_string(findings->size())}});
  committed();
  return true;
}

Result<std::int64_t> RedisStore::ask_number(const Command& command) {
  const auto reply = ask(command);
  if (!reply) return std::unexpected(reply.error());
  return reply->as_integer();
}

Result<std::vector<TaskRecord>> RedisStore::records(const Command& command) {
  const auto reply = ask(command);
  if (!reply) return std::unexpected(reply.error());
  const auto items = reply->as_array();
  if (!items) return std::unexpected(items.error());
  return readable(*items);
}

std::vector<TaskRecord> RedisStore::readable(std::span<const Reply> items) {
  std::vector<TaskRecord> found;
  found.reserve(items.size());
  for (const Reply& item : items) {
    if (const auto parts = item.as_array(); parts && !parts->empty()) add_readable(*parts, found);
  }
  return found;
}

bool RedisStore::add_readable(std::span<const Reply> parts, std::vector<TaskRecord>& found) {
  auto record = redis::to_record(parts);
  if (record) {
    found.push_back(*std::move(record));
    return true;
  }
  const std::string id(parts.front().as_text().value_or(""));
  log_error("store", "a task's record is unreadable and is put apart", {{"task", id}, {"why", record.error().message}});
  if (const auto apart = ask(function("quarantine").add(id)); !apart) {
    log_error("store", "it could not be put apart", {{"task", id}, {"error", to_string(apart.error())}});
  }
  return false;
}

Result<std::vector<TaskRecord>> RedisStore::relatives(std::string_view kind, const TaskId& id) {
  return records(function("relatives").add(kind, id.to_string()));
}

// ---- reading

Result<Time> RedisStore::ask_time() {
  const auto millis = ask_number(function("clock"));
  if (!millis) return std::unexpected(millis.error());
  return Time(Millis(*millis));
}

// The server's time, as it was when last asked, and what has passed since. It is for decisions that are applied under
// compare-and-set; whether a lease or a gate's time has run out is decided by the functions, on the server's own clock.
Result<Time> RedisStore::now() {
  if (options_.test_clock != nullptr) return options_.test_clock->wall();
  const MonoTime here = system_clock().mono();
  {
    const std::lock_guard lock(known_mutex_);
    if (time_ && here - time_->asked_at < kTrustTimeFor) return time_->value + (here - time_->asked_at);
  }
  const auto there = ask_time();
  if (!there) return there;
  const std::lock_guard lock(known_mutex_);
  time_ = Known<Time>{*there, here};
  return there;
}

Result<std::vector<std::optional<TaskRecord>>> RedisStore::read(std::span<const TaskId> ids, Parts parts) {
  std::vector<std::optional<TaskRecord>> found;
  if (ids.empty()) return found;
  Command command = function("read");
  command.add(parts == Parts::kAll ? "all" : "head");
  for (const TaskId& id : ids) command.add(id.to_string());
  const auto reply = ask(command);
  if (!reply) return std::unexpected(reply.error());
  const auto items = reply->as_array_of(ids.size());
  if (!items) return std::unexpected(items.error());
  for (const Reply& item : *items) {
    if (item.is_nil()) {
      found.emplace_back();
      continue;
    }
    auto record = redis::to_record(item);
    if (!record) return std::unexpected(record.error());
    found.emplace_back(*std::move(record));
  }
  return found;
}

Result<std::optional<TaskId>> RedisStore::find_request(const std::string& owner, const std::string& request_id) {
  const auto reply = ask(function("find_request").add(redis::request_key(owner, request_id)));
  if (!reply) return std::unexpected(reply.error());
  const auto text = reply->as_maybe_text();
  if (!text) return std::unexpected(text.error());
  const std::optional<std::string_view> id = *text;
  return id ? TaskId::parse(*id) : std::nullopt;
}

Result<DedupeMatches> RedisStore::find_dedupe(const std::string& owner, const std::string& type,
                                              const std::string& key) {
  const auto reply = ask(function("find_dedupe").add(redis::dedupe_key(owner, type, key)));
  if (!reply) return std::unexpected(reply.error());
  const auto parts = reply->as_array_of(2);
  if (!parts) return std::unexpected(parts.error());
  DedupeMatches matches;
  if (!(*parts)[0].is_nil()) {
    auto newest = redis::to_record((*parts)[0]);
    if (!newest) return std::unexpected(newest.error());
    matches.newest = *std::move(newest);
  }
  const auto unfinished = (*parts)[1].as_array();
  if (!unfinished) return std::unexpected(unfinished.error());
  matches.unfinished = readable(*unfinished);
  return matches;
}

// A bounded number of tasks before that seq, and where to go on; nothing there: that was all.
Result<RedisStore::Slice> RedisStore::list_slice(const TaskFilter& filter, const std::string& before, int limit,
                                                 Parts parts) {
  std::string states;
  for (const TaskState state : filter.states) states += (states.empty() ? "," : "") + std::string(name_of(state)) + ",";
  const auto reply = ask(function("list").add(before, limit, filter.type.value_or(""), filter.queue.value_or(""),
                                              filter.owner.value_or(""), states, filter.tag.value_or(""),
                                              filter.parent_id ? filter.parent_id->to_string() : "",
                                              parts == Parts::kAll ? "all" : "head"));
  if (!reply) return std::unexpected(reply.error());
  const auto halves = reply->as_array_of(2);
  if (!halves) return std::unexpected(halves.error());
  const auto items = (*halves)[0].as_array();
  const auto next = (*halves)[1].as_text();
  if (!items || !next) return std::unexpected(!items ? items.error() : next.error());
  Slice slice{.next = std::string(*next)};
  for (const Reply& item : *items) {
    const auto fields = item.as_array_of(2);
    if (!fields) return std::unexpected(fields.error());
    auto record = redis::to_record((*fields)[1]);
    if (record) {
      slice.found.push_back({std::string((*fields)[0].as_text().value_or("")), *std::move(record)});
    } else {
      log_error("store", "a task's record is unreadable and is left out", {{"why", record.error().message}});
    }
  }
  return slice;
}

Result<RecordPage> RedisStore::list(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor,
                                    Parts parts) {
  if (limit <= 0) return fail(ErrorCode::kInvalidArgument, "a page holds at least one task");
  const auto first = parse_page_cursor(cursor);
  if (!first) return std::unexpected(first.error());
  const bool sifts = asks_for_end(filter);
  RecordPage page;
  std::string last;  // that is on the page
  std::string before = std::to_string(*first);
  // One more than the page holds tells whether there is another. What is sifted here is read in larger slices, without
  // the bodies.
  while (true) {
    const auto wanted = limit + 1 - static_cast<int>(page.records.size());
    auto slice = sifts ? list_slice(filter, before, std::max(wanted, kSiftSlice), Parts::kHead)
                       : list_slice(filter, before, wanted, parts);
    if (!slice) return std::unexpected(slice.error());
    for (auto& [seq, record] : slice->found) {
      if (!matches_end(filter, record.task)) continue;
      if (std::cmp_equal(page.records.size(), limit)) {
        page.cursor = last;
        break;
      }
      last = seq;
      page.records.push_back(std::move(record));
    }
    if (page.cursor || slice->next.empty()) break;
    before = std::move(slice->next);
  }
  if (sifts && parts == Parts::kAll) return with_bodies(std::move(page));
  return page;
}

// Their whole records; what has moved on meanwhile is left out.
Result<RecordPage> RedisStore::with_bodies(RecordPage heads) {
  std::vector<TaskId> ids;
  for (const TaskRecord& record : heads.records) ids.push_back(record.task.id);
  auto whole = read(ids, Parts::kAll);
  if (!whole) return std::unexpected(whole.error());
  RecordPage page{.records = {}, .cursor = std::move(heads.cursor)};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::optional<TaskRecord>& record = (*whole)[i];
    if (record && record->task.state == heads.records[i].task.state) page.records.push_back(*std::move(record));
  }
  return page;
}

Result<std::vector<RunSummary>> RedisStore::runs(const TaskId& id, int limit) {
  const auto reply = ask(function("runs").add(id.to_string()));
  if (!reply) return std::unexpected(reply.error());
  const auto parts = reply->as_array_of(2);
  if (!parts) return std::unexpected(parts.error());
  std::vector<RunSummary> runs;
  if ((*parts)[0].is_nil()) return runs;
  const auto record = redis::to_record((*parts)[0]);
  if (!record) return std::unexpected(record.error());
  const Task& task = record->task;
  if (task.state == TaskState::kRunning) {
    RunSummary current;
    current.run = task.run;
    current.generation = task.generation;
    current.worker_id = task.worker_id.value_or("");
    current.started_at = task.started_at.value_or(Time{});
    runs.push_back(std::move(current));
  }
  auto ended = (*parts)[1].as_text();
  if (!ended) return std::unexpected(ended.error());
  // Newest first; each stands on a line of its own.
  while (!ended->empty() && std::cmp_less(runs.size(), limit)) {
    ended->remove_suffix(1);
    const std::size_t line = ended->rfind('\n') + 1;
    auto run = redis::parse_run(ended->substr(line));
    if (!run) return std::unexpected(run.error());
    runs.push_back(*std::move(run));
    ended = ended->substr(0, line);
  }
  return runs;
}

Result<std::vector<Event>> RedisStore::events(std::int64_t after, int limit) {
  const auto reply = ask(function("events").add(std::max<std::int64_t>(after, 0), limit));
  if (!reply) return std::unexpected(reply.error());
  const auto items = reply->as_array();
  if (!items) return std::unexpected(items.error());
  std::vector<Event> events;
  for (std::size_t i = 0; i + 2 < items->size(); i += 3) {
    const auto seq = (*items)[i].as_integer();
    const auto at = (*items)[i + 1].as_integer();
    const auto text = (*items)[i + 2].as_text();
    if (!seq || !at || !text) return fail(ErrorCode::kStoreDamaged, "unreadable events", "redis.events");
    auto event = redis::parse_event(*seq, Time(Millis(*at)), *text);
    if (!event) return std::unexpected(event.error());
    events.push_back(*std::move(event));
  }
  return events;
}

Result<std::int64_t> RedisStore::last_event_seq() {
  return ask_number(function("last_event"));
}

Result<LogPage> RedisStore::log(const TaskId& id, std::int64_t after, int limit) {
  const auto reply = ask(function("log").add(id.to_string(), std::max<std::int64_t>(after, 0), limit));
  if (!reply) return std::unexpected(reply.error());
  return redis::to_log_page(*reply);
}

Result<std::vector<std::int64_t>> RedisStore::counts(const std::string& scope) {
  const auto reply = ask(function("count_scopes").add(scope));
  if (!reply) return std::unexpected(reply.error());
  const auto scopes = reply->as_array_of(1);
  if (!scopes) return std::unexpected(scopes.error());
  const auto states = (*scopes)[0].as_array_of(kTaskStateCount);
  if (!states) return std::unexpected(states.error());
  std::vector<std::int64_t> counts;
  for (const Reply& state : *states) {
    const auto count = state.as_integer();
    if (!count) return std::unexpected(count.error());
    counts.push_back(*count);
  }
  return counts;
}

Result<Backlog> RedisStore::backlog(std::span<const Serve> serves) {
  Backlog backlog;
  for (const Serve& serve : serves) {
    const auto found = counts((serve.type ? "line:" : "queue:") + line_of(serve));
    if (!found) return std::unexpected(found.error());
    const auto of = [&](TaskState state) { return (*found)[static_cast<std::size_t>(state)]; };
    backlog.waiting += of(TaskState::kPending) + of(TaskState::kStalled) + of(TaskState::kScheduled);
    backlog.running += of(TaskState::kRunning);
    backlog.blocked += of(TaskState::kBlocked);
  }
  return backlog;
}

// ---- writing

// What asks for room goes by a function of its own, which Redis refuses as a whole when memory is short. An end with
// the task that follows it does not: it must go on.
Result<std::vector<Applied>> RedisStore::apply(std::span<const StepGroup> groups) {
  if (groups.empty()) return std::vector<Applied>();
  const bool adds = std::ranges::any_of(groups, [](const StepGroup& group) { return group.capacity.has_value(); });
  auto verdicts = (adds ? additions_ : changes_of_stored_).apply(groups);
  if (verdicts && !adds) verdicts = apply_whole_if_moved(groups, *std::move(verdicts));
  if (verdicts) committed();
  return verdicts;
}

// A short group (step_arguments.h) conflicts, too, when a note has moved what was remembered of its record, and not its
// revision: the whole group says which it was.
Result<std::vector<Applied>> RedisStore::apply_whole_if_moved(std::span<const StepGroup> groups,
                                                              std::vector<Applied> verdicts) {
  std::vector<StepGroup> whole;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (verdicts[i] != Applied::kConflict || !redis::is_short(groups[i])) continue;
    places.push_back(i);
    whole.push_back(groups[i]);
    for (Step& step : whole.back().steps) step.next.kept = {};
  }
  if (whole.empty()) return verdicts;
  const auto again = changes_of_stored_.apply(whole);
  if (!again) return again;
  for (std::size_t k = 0; k < places.size(); ++k) verdicts[places[k]] = (*again)[k];
  return verdicts;
}

Result<std::vector<Applied>> RedisStore::send_groups(std::string_view name, std::int64_t groups,
                                                     const redis::Pack& packed) {
  const auto reply = ask(function(name).add(groups, packed.list()));
  if (!reply) return std::unexpected(reply.error());
  const auto items = reply->as_array_of(static_cast<std::size_t>(groups));
  if (!items) return std::unexpected(items.error());
  std::vector<Applied> verdicts;
  for (const Reply& item : *items) {
    const auto verdict = item.as_integer();
    if (!verdict) return std::unexpected(verdict.error());
    CHECK(*verdict >= 0 && *verdict <= static_cast<int>(Applied::kStillLeased));
    verdicts.push_back(static_cast<Applied>(*verdict));
  }
  return verdicts;
}

Result<Reply> RedisStore::ask_with_pool(const Command& command, std::span<const std::string> lines) {
  constexpr std::string_view kNoPool = "NOPOOL";
  auto reply = client_.call(command);
  if (reply && reply->is_error() && reply->error_text().starts_with(kNoPool)) {
    Command make = function("make_pool");
    make.add(pool_of(lines));
    for (const std::string& line : lines) make.add(line);
    if (auto made = ask(make); !made) return made;
    reply = client_.call(command);
  }
  if (reply && reply->is_error()) return std::unexpected(failure(*reply));
  return reply;
}

Result<Claimed> RedisStore::claim(const ClaimRequest& request, std::span<const LeaseId> lease_ids,
                                  const std::optional<ReservedSlots>& reserved) {
  if (const Status there = check_extent(); !there) return std::unexpected(there.error());
  const std::vector<std::string> lines = lines_of(request.serves);
  Command command = function("claim");
  command.add(pool_of(lines), request.worker_id, request.lease.count(), request.n,
              reserved ? reserved->rank : kPriorityMax, reserved ? reserved->n_others : 0);
  for (const LeaseId& id : lease_ids) command.add(id.to_string());
  const auto reply = ask_with_pool(command, lines);
  if (!reply) return std::unexpected(reply.error());
  // More, visits, and the parts of each record.
  const auto parts = reply->as_array();
  if (!parts) return std::unexpected(parts.error());
  const auto more = parts->empty() ? fail(ErrorCode::kStoreDamaged, "an empty answer") : parts->front().as_integer();
  if (!more) return std::unexpected(more.error());
  Claimed claimed;
  claimed.more = *more != 0;
  for (std::size_t at = 2; at + redis::kRecordParts <= parts->size(); at += redis::kRecordParts) {
    const auto record = parts->subspan(at, redis::kRecordParts);
    if (add_readable(record, claimed.records)) {
      claimed.records.back().kept = redis::kept_as(record[1].as_text().value_or(""));
    }
  }
  if (!claimed.records.empty()) committed();
  return claimed;
}

Result<Beat> RedisStore::renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) {
  Command command = function("renew");
  command.add(worker_id, lease.count());
  for (const Lease& held : leases) command.add(held.task.to_string(), held.id.to_string());
  const auto reply = ask(renewals_, command);
  if (!reply) return std::unexpected(reply.error());
  const auto items = reply->as_array();
  if (!items) return std::unexpected(items.error());
  // A library of an earlier version answers only with the leases.
  Beat beat{.leases = {}, .drain = items->size() == leases.size() + 1};
  if (!beat.drain && items->size() != leases.size()) {
    return fail(ErrorCode::kStoreDamaged, "renew answers for other leases", "redis.renew");
  }
  for (const Reply& item : items->first(leases.size())) {
    const auto state = item.as_integer();
    if (!state) return std::unexpected(state.error());
    beat.leases.push_back(static_cast<LeaseState>(*state));
  }
  return beat;
}

Result<std::vector<bool>> RedisStore::note(std::span<const Note> notes) {
  Command command = function("note");
  redis::Pack packed;
  for (const Note& note : notes) pack_note(packed, note, options_.log_bytes_max);
  command.add(options_.log_bytes_max, packed.list());
  const auto reply = ask(command);
  if (!reply) return std::unexpected(reply.error());
  const auto items = reply->as_array_of(notes.size());
  if (!items) return std::unexpected(items.error());
  std::vector<bool> live;
  for (const Reply& item : *items) live.push_back(item.as_integer().value_or(0) != 0);
  committed();
  return live;
}

// ---- gates and queues

Result<std::vector<GateState>> RedisStore::gate_states(const Command& command) {
  const auto reply = ask(command);
  if (!reply) return std::unexpected(reply.error());
  const auto items = reply->as_array();
  if (!items) return std::unexpected(items.error());
  std::vector<GateState> states;
  for (const Reply& item : *items) {
    const auto parts = item.as_array_of(5);
    if (!parts) return std::unexpected(parts.error());
    GateState state;
    const auto record = (*parts)[1].as_text();
    if (!record) return std::unexpected(record.error());
    if (const std::size_t space = record->find(' '); space != std::string_view::npos) {
      auto parsed = gate_from_json(record->substr(space + 1));
      if (!parsed) return std::unexpected(parsed.error());
      state.record = *std::move(parsed);
      std::from_chars(record->data(), record->data() + space, state.record.revision);
    }
    state.record.name = std::string((*parts)[0].as_text().value_or(""));
    state.use.in_use = (*parts)[2].as_integer().value_or(0);
    state.use.rate_at_us = (*parts)[3].as_integer().value_or(0);
    state.waiting_lanes = (*parts)[4].as_integer().value_or(0);
    states.push_back(std::move(state));
  }
  return states;
}

Result<std::vector<GateState>> RedisStore::read_gates(std::span<const std::string> names) {
  if (names.empty()) return std::vector<GateState>();
  Command command = function("read_gates");
  for (const std::string& name : names) command.add(name);
  return gate_states(command);
}

Result<int> RedisStore::wake_gates() {
  const auto woken = ask_number(function("wake_gates"));
  if (!woken) return std::unexpected(woken.error());
  if (*woken < 0) return mend("a lane could not be read") ? 1 : 0;
  if (*woken > 0) committed();
  return static_cast<int>(*woken);
}

Result<std::optional<Standing>> RedisStore::standing(const TaskId& id) {
  const auto reply = ask(function("standing").add(id.to_string()));
  if (!reply) return std::unexpected(reply.error());
  if (reply->is_nil()) return std::nullopt;
  const auto parts = reply->as_array_of(2);
  if (!parts) return std::unexpected(parts.error());
  const auto gate = (*parts)[0].as_text();
  const auto ahead = (*parts)[1].as_integer();
  if (!gate || !ahead) return std::unexpected(!gate ? gate.error() : ahead.error());
  Standing standing;
  if (!gate->empty()) standing.parked_at = std::string(*gate);
  standing.ahead = *ahead;
  return standing;
}

// "ID|TIME"
static std::optional<FirstInLine> read_first(std::string_view text) {
  const std::size_t bar = text.find('|');
  const auto id = TaskId::parse(text.substr(0, bar));
  std::int64_t millis = 0;
  if (!id || bar == std::string_view::npos) return std::nullopt;
  std::from_chars(text.data() + bar + 1, text.data() + text.size(), millis);
  return FirstInLine{*id, Time(Millis(millis))};
}

// "NAME|state". Whether it makes sense.
static bool add_count(std::map<std::string, QueueCounts>& queues, std::string_view field, std::int64_t tasks) {
  const std::size_t bar = field.rfind('|');
  const auto state = parse_task_state(field.substr(bar + 1));
  if (!state || bar == std::string_view::npos) return false;
  const std::string name(field.substr(0, bar));
  QueueCounts& queue = queues[name];
  queue.name = name;
  queue.tasks[static_cast<std::size_t>(*state)] = tasks;
  return true;
}

static std::unexpected<Error> unreadable_counts(std::string operation) {
  return fail(ErrorCode::kStoreDamaged, "unreadable counts", std::move(operation));
}

static std::vector<QueueCounts> in_order(std::map<std::string, QueueCounts> queues) {
  std::vector<QueueCounts> found;
  for (auto& [name, counts] : queues) found.push_back(std::move(counts));
  return found;
}

Result<std::vector<QueueCounts>> RedisStore::queues() {
  constexpr std::string_view kFirst = "first:";
  const auto reply = ask(function("queues"));
  if (!reply) return std::unexpected(reply.error());
  const auto items = reply->as_array();
  if (!items) return std::unexpected(items.error());
  std::map<std::string, QueueCounts> queues;
  for (std::size_t i = 0; i + 1 < items->size(); i += 2) {
    std::string_view field = (*items)[i].as_text().value_or("");
    const auto number = (*items)[i + 1].as_integer();
    if (field.starts_with(kFirst)) {
      queues[std::string(field.substr(kFirst.size()))].first = read_first((*items)[i + 1].as_text().value_or(""));
      continue;
    }
    field.remove_prefix(std::min(field.size(), std::string_view("queue:").size()));
    if (!number || !add_count(queues, field, *number)) return unreadable_counts("redis.queues");
  }
  return in_order(std::move(queues));
}

Result<std::vector<QueueCounts>> RedisStore::queues_of(const std::string& owner) {
  const auto reply = ask(function("queues_of").add(owner));
  if (!reply) return std::unexpected(reply.error());
  const auto items = reply->as_array();
  if (!items) return std::unexpected(items.error());
  const std::size_t prefix = std::string_view("own:|").size() + owner.size();
  std::map<std::string, QueueCounts> queues;
  for (std::size_t i = 0; i + 1 < items->size(); i += 2) {
    std::string_view field = (*items)[i].as_text().value_or("");
    field.remove_prefix(std::min(field.size(), prefix));
    const auto number = (*items)[i + 1].as_integer();
    if (!number || !add_count(queues, field, *number)) return unreadable_counts("redis.queues_of");
  }
  return in_order(std::move(queues));
}

// ---- sweeping

Result<std::vector<TaskRecord>> RedisStore::lapsed(std::optional<Millis> silent_for, int limit) {
  return records(function("lapsed").add(silent_for ? std::to_string(silent_for->count()) : "", limit));
}

Result<std::optional<Millis>> RedisStore::next_wake() {
  const auto reply = ask(function("next_wake"));
  if (!reply) return std::unexpected(reply.error());
  const auto text = reply->as_text();
  if (!text) return std::unexpected(text.error());
  if (text->empty()) return std::nullopt;
  const auto millis = reply->as_integer();
  if (!millis) return std::unexpected(millis.error());
  return Millis(*millis);
}

Result<int> RedisStore::expire(const Retention& retention, int limit) {
  const auto gone = ask_number(function("expire").add(retention.age.count(), retention.tasks_max, retention.bytes_max,
                                                      retention.event_age.count(), retention.events_max, limit));
  if (!gone) return std::unexpected(gone.error());
  if (*gone > 0) committed();
  return static_cast<int>(*gone);
}
// ---- waiting

void RedisStore::committed() {
  const std::lock_guard lock(change_mutex_);
  ++changes_;
  changed_.notify_all();
}

std::uint64_t RedisStore::changes() {
  const std::lock_guard lock(change_mutex_);
  return changes_;
}

void RedisStore::wait_for_change(std::uint64_t seen, Millis timeout) {
  const MonoTime until = system_clock().mono() + timeout;
  while (true) {
    {
      std::unique_lock lock(change_mutex_);
      const Millis left = std::min(kLookEvery, until - system_clock().mono());
      if (changed_.wait_for(lock, left, [&] { return changes_ != seen; })) return;
    }
    const auto reply = ask(function("changes"));
    const auto mark = reply ? reply->as_text() : std::unexpected(reply.error());
    const std::lock_guard lock(change_mutex_);
    if (mark && *mark != last_mark_) {
      last_mark_ = *mark;
      ++changes_;
      changed_.notify_all();
      return;
    }
    if (system_clock().mono() >= until) return;
  }
}

void RedisStore::wait_for_work(std::span<const Serve> serves, std::uint64_t seen, Millis timeout) {
  if (changes() != seen) return;
  const std::vector<std::string> lines = lines_of(serves);
  const Interrupt never;
  const double seconds = static_cast<double>(timeout.count()) / 1000;
  const Command pop("BLPOP", key_ + "tokens:" + pool_of(lines), fmt::format("{:.3f}", std::max(seconds, 0.001)));
  const auto token = client_.blocking_call(pop, timeout, never);
  if (token && !token->is_nil()) committed();
}

}  // namespace drover::redis

namespace drover {

Result<std::unique_ptr<Store>> open_redis(RedisOptions options) {
  auto store = std::make_unique<redis::RedisStore>(std::move(options));
  if (auto status = store->open(); !status) return std::unexpected(status.error());
  return store;
}

}  // namespace drover
