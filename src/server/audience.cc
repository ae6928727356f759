#include "server/audience.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/json_reader.h"
#include "base/log.h"
#include "base/try.h"
#include "core/task_json.h"
#include "net/websocket_inbox.h"
#include "server/guarded_queue.h"

namespace drover::server {
namespace {

constexpr std::size_t kRecentEvents = 20'000;
constexpr std::size_t kRecentBytes = std::size_t{8} << 20U;
// A frame takes no more once it has this much.
constexpr std::size_t kFrameBytes = std::size_t{256} << 10U;
constexpr Millis kBetweenFrames{100};
constexpr Millis kBetweenRounds{20};
// How long a round may keep the loop from everybody else; it goes on in the loop's next turn.
constexpr Millis kRoundSliceMax{10};
// A watcher that nothing happens to hears this often how far things are, so that it can resume from there.
constexpr Millis kHeartbeat{15'000};
constexpr Millis kGuestMax{10'000};
constexpr Millis kSlowMax{10'000};
constexpr Millis kStoreAgain{1'000};
constexpr int kEventsPage = 500;
constexpr int kSnapshotTasksAtOnce = 250;
// Nobody has more to say than a token.
constexpr std::size_t kMessageBytesMax = 4096;
constexpr MonoTime kNever{Millis::max()};

const std::vector<TaskState> kUnfinished{TaskState::kBlocked, TaskState::kScheduled, TaskState::kPending,
                                         TaskState::kStalled, TaskState::kRunning};

struct SnapshotPage {
  std::string tasks;
  std::optional<std::string> cursor;
};

Result<SnapshotPage> snapshot_page(GuardedQueue& queue, const WatchFilter& filter, std::optional<std::string> cursor) {
  SnapshotPage page;
  if (filter.task) {
    const auto task = queue.get(*filter.task);
    if (!task && task.error().code != ErrorCode::kNotFound) return std::unexpected(task.error());
    if (task) page.tasks = to_snapshot_json(*task);
    return page;
  }
  const TaskFilter unfinished{.type = filter.type, .queue = filter.queue, .owner = filter.owner, .states = kUnfinished};
  do {
    auto listed = TRY(queue.list_heads(unfinished, kSnapshotTasksAtOnce, cursor));
    for (const Task& task : listed.tasks) {
      if (!page.tasks.empty()) page.tasks += ',';
      page.tasks += to_snapshot_json(task);
    }
    cursor = std::move(listed.cursor);
  } while (cursor && page.tasks.size() < kFrameBytes);
  page.cursor = std::move(cursor);
  return page;
}

EventsFrame frame_for(const Watch& watch) {
  return {watch.filter.tally ? FrameOf::kTally : FrameOf::kEvents, watch.names};
}

struct PastPage {
  EventPage page;
  std::optional<std::int64_t> gap_until;  // what lies between is gone
};

// What happened after `after`. Numbers have no holes: where one is, events were let go; and one that is still to come
// is from a store that went backwards.
Result<PastPage> past_page(TaskQueue& queue, const Principal& principal, std::int64_t after) {
  const auto next = TRY(queue.events(after, 1));
  if (!next.empty() && next.front().seq > after + 1) return PastPage{{}, next.front().seq - 1};
  if (next.empty()) {
    const auto last = TRY(queue.last_event_seq());
    if (after > last) return PastPage{{}, last};
  }
  auto page = TRY(GuardedQueue(queue, principal).events_page({.from = after, .limit = kEventsPage}));
  return PastPage{std::move(page), std::nullopt};
}

}  // namespace

struct Audience::Watcher {
  enum class Stage : std::uint8_t { kGuest, kArriving, kSnapshot, kPast, kLive, kLeaving };

  std::shared_ptr<HttpConnection> client;
  Introduce introduce = {};
  Watch watch = {};
  std::string credentials = {};
  std::optional<WatchFilter> next_filter = {};  // what it wants to watch instead
  WebSocketInbox socket{kMessageBytesMax};
  Stage stage = Stage::kGuest;
  std::int64_t cursor = 0;                      // everything up to this event was looked at
  std::optional<std::string> list_cursor = {};  // of the snapshot
  bool is_reading = false;                      // the pool has something to do for it
  MonoTime frame_at = {};                       // when the last frame was made
  MonoTime not_before = {};
  MonoTime check_at = {};

  [[nodiscard]] bool has_cursor() const {
    return stage == Stage::kSnapshot || stage == Stage::kPast || stage == Stage::kLive;
  }
};

Audience::Audience(TaskQueue& queue, Doorkeeper& doorkeeper, const ByteBudget& budget, Millis tokens_again,
                   Submit submit)
    : queue_(queue),
      doorkeeper_(doorkeeper),
      budget_(budget),
      tokens_again_(tokens_again),
      submit_(std::move(submit)),
      recent_(kRecentEvents, kRecentBytes) {}

Audience::~Audience() = default;

void Audience::begin(const WatcherRef& watcher, const std::string& head) {
  const std::weak_ptr<Watcher> weak = watcher;
  watchers_.push_back(watcher);
  watcher->client->start_stream(head, {.received =
                                           [this, weak](std::string_view bytes) {
                                             const auto here = weak.lock();
                                             return here != nullptr ? receive(here, bytes) : 0;
                                           },
                                       .drained =
                                           [this, weak] {
                                             due_at_ = {};
                                             if (const auto here = weak.lock()) answer_ping(*here);
                                           },
                                       .closed = {}});
}

void Audience::join(Watch watch, std::string credentials, const std::shared_ptr<HttpConnection>& client) {
  const auto watcher = std::make_shared<Watcher>(Watcher{.client = client});
  const std::string head = std::exchange(watch.head, {});
  join(watcher, std::move(watch), std::move(credentials));
  begin(watcher, head);
}

void Audience::join(const WatcherRef& guest, Watch watch, std::string credentials) {
  if (guest->stage != Watcher::Stage::kGuest) return;
  guest->stage = Watcher::Stage::kArriving;
  guest->watch = std::move(watch);
  guest->credentials = std::move(credentials);
  guest->check_at = system_clock().mono() + tokens_again_;
  guest->introduce = {};
  due_at_ = {};
}

Audience::WatcherRef Audience::greet(const std::shared_ptr<HttpConnection>& client, const std::string& head,
                                     Introduce introduce) {
  auto guest = std::make_shared<Watcher>(Watcher{.client = client, .introduce = std::move(introduce)});
  guest->frame_at = system_clock().mono();
  begin(guest, head);
  return guest;
}

std::size_t Audience::receive(const WatcherRef& watcher, std::string_view bytes) {
  const bool has_nothing_to_say = watcher->watch.transport == LiveTransport::kEventStream;
  if (has_nothing_to_say || watcher->stage == Watcher::Stage::kLeaving) return 0;
  watcher->socket.feed(bytes);
  take_messages(watcher);
  answer_ping(*watcher);
  return watcher->socket.held();
}

void Audience::take_messages(const WatcherRef& watcher) {
  while (watcher->stage != Watcher::Stage::kLeaving) {
    const auto next = watcher->socket.next();
    if (!next) return dismiss(*watcher, next.error().code, next.error().reason);
    if (!*next) return;
    take_message(watcher, **next);
  }
}

void Audience::answer_ping(Watcher& watcher) {
  if (watcher.client->unsent() > 0 || watcher.stage == Watcher::Stage::kLeaving) return;
  if (const auto pong = watcher.socket.take_pong()) watcher.client->send(*pong);
}

void Audience::take_message(const WatcherRef& watcher, const WebSocketMessage& message) {
  if (message.kind == WebSocketKind::kClose) return dismiss(*watcher, CloseCode::kNormal, "");
  if (!watcher->introduce) return take_watch(*watcher, message);
  Pass pass;
  json::Reader body(message.payload);
  body.get("token", pass.token).get("ticket", pass.ticket);
  if (const Status good = body.finish_strictly(); !good) {
    return dismiss(*watcher, CloseCode::kPolicyViolation, good.error().message);
  }
  if (pass.token.has_value() == pass.ticket.has_value()) {
    return dismiss(*watcher, CloseCode::kPolicyViolation, "expected a token or a ticket, and not both");
  }
  std::exchange(watcher->introduce, {})(watcher, std::move(pass));
}

// It counts from the watcher's next turn on: until then a thread may read by what is watched now.
void Audience::take_watch(Watcher& watcher, const WebSocketMessage& message) {
  std::optional<WatchFilter> wanted;
  json::Reader body(message.payload);
  body.need("watch", wanted);
  const Status good = body.finish_strictly();
  if (!good || !wanted) {
    return dismiss(watcher, CloseCode::kPolicyViolation, good ? "watch: expected an object" : good.error().message);
  }
  watcher.next_filter = *std::move(wanted);
  due_at_ = {};
}

// A snapshot that was on its way would be of the old filter, and is not asked for.
void Audience::watch_next(Watcher& watcher, MonoTime now) {
  CHECK(watcher.next_filter.has_value());
  watcher.watch.filter = *std::move(watcher.next_filter);
  watcher.next_filter.reset();
  if (watcher.stage == Watcher::Stage::kSnapshot) watcher.stage = Watcher::Stage::kPast;
  watcher.frame_at = now;
  tell(watcher, watching_frame(watcher.cursor));
}

void Audience::dismiss(Watcher& watcher, CloseCode code, std::string_view reason) {
  if (watcher.stage == Watcher::Stage::kLeaving) return;
  watcher.stage = Watcher::Stage::kLeaving;
  watcher.client->send(format_goodbye(watcher.watch.transport, code, reason));
  watcher.client->close_when_sent();
}

void Audience::dismiss_all() {
  for (const WatcherRef& watcher : watchers_) dismiss(*watcher, CloseCode::kGoingAway, "the server is stopping");
}

void Audience::notice(const Pulse& pulse) {
  if (pulse.missed_some || !recent_.has_begun()) {
    const bool had_begun = recent_.has_begun();
    const bool went_back = pulse.seq < recent_.last();
    recent_.restart(pulse.seq);
    for (const WatcherRef& watcher : watchers_) {
      const bool is_beyond = went_back && watcher->has_cursor() && watcher->cursor > pulse.seq;
      if (had_begun && (watcher->stage == Watcher::Stage::kLive || is_beyond)) tell_gap(*watcher, pulse.seq);
    }
  } else {
    notice_ends(*pulse.events);
    recent_.add(*pulse.events);
  }
  has_news_ = has_news_ || pulse.missed_some || !pulse.events->empty();
}

void Audience::notice_ends(std::span<const Event> events) {
  for (const Event& event : events) {
    if (event.name != "token.revoked" && event.name != "signin.ended") continue;
    doorkeeper_.look_again();
    std::string token_id;
    json::Reader data(event.data);
    data.need("token_id", token_id);
    if (!data.finish()) continue;
    for (const WatcherRef& watcher : watchers_) {
      if (watcher->watch.principal.token_id == token_id) watcher->check_at = {};
    }
  }
}

MonoTime Audience::tick(MonoTime now) {
  if (watchers_.empty()) return kNever;
  if (left_in_round_ == 0) {
    const MonoTime due_at = std::max(has_news_ ? MonoTime{} : due_at_, round_at_ + kBetweenRounds);
    if (now < due_at) return due_at;
    has_news_ = false;
    round_at_ = now;
    due_at_ = kNever;
    left_in_round_ = watchers_.size();
  }
  const MonoTime slice_ends_at = system_clock().mono() + kRoundSliceMax;
  do {
    const auto next = watchers_.begin();
    watchers_.splice(watchers_.end(), watchers_, next);
    due_at_ = std::min(due_at_, step(*next, now));
    if ((*next)->client->is_closed()) watchers_.erase(next);
    if (--left_in_round_ == 0) return due_at_;
  } while (system_clock().mono() < slice_ends_at);
  return now;
}

MonoTime Audience::step(const WatcherRef& watcher, MonoTime now) {
  using Stage = Watcher::Stage;
  Watcher& who = *watcher;
  if (who.client->is_closed() || who.stage == Stage::kLeaving) return kNever;
  if (who.stage == Stage::kGuest) {
    if (now - who.frame_at < kGuestMax) return who.frame_at + kGuestMax;
    dismiss(who, CloseCode::kPolicyViolation, "no token or ticket arrived in time");
    return kNever;
  }
  if (who.is_reading) return kNever;
  if (who.client->unsent() > 0) {
    if (now - who.frame_at < kSlowMax) return who.frame_at + kSlowMax;
    dismiss(who, CloseCode::kTryAgainLater, "too slow; resume from the last number");
    return kNever;
  }
  const MonoTime ready_at = std::max(who.not_before, who.frame_at + kBetweenFrames);
  if (now < ready_at) return ready_at;
  if (budget_.is_tight()) return now + kBetweenFrames;
  if (!recent_.has_begun()) return kNever;
  if (now >= who.check_at) {
    check_credentials(watcher);
    return who.not_before;
  }
  if (who.stage == Stage::kArriving) {
    who.cursor = who.watch.after.value_or(recent_.last());
    who.stage = Stage::kPast;
    if (!who.watch.after && who.watch.wants_snapshot) start_snapshot(who);
  }
  if (who.next_filter) {
    watch_next(who, now);
    return now + kBetweenFrames;
  }
  if (who.stage == Stage::kSnapshot) {
    read_snapshot(watcher);
    return who.not_before;
  }
  const bool is_near = who.cursor >= recent_.first() && who.cursor <= recent_.last();
  if (who.stage == Stage::kPast && !is_near) {
    read_past(watcher);
    return who.not_before;
  }
  who.stage = Stage::kLive;
  return step_live(who, now);
}

MonoTime Audience::step_live(Watcher& watcher, MonoTime now) {
  if (watcher.cursor < recent_.first()) {
    dismiss(watcher, CloseCode::kTryAgainLater, "too far behind; resume from the last number");
    return kNever;
  }
  const Watch& watch = watcher.watch;
  EventsFrame frame = frame_for(watch);
  bool is_full = false;
  recent_.visit(watcher.cursor, watch.principal.owner ? watch.principal.owner : watch.filter.owner,
                [&](const RecentEvents::Recent& recent) {
                  is_full = frame.size() >= kFrameBytes;
                  if (is_full) return false;
                  const Event& event = recent.event();
                  watcher.cursor = event.seq;
                  if (GuardedQueue::may_see(watch.principal, event) && watch.filter.admits(event)) {
                    frame.add(event, [&]() -> const std::string& { return recent.json(); });
                  }
                  return true;
                });
  if (!is_full) watcher.cursor = recent_.last();
  const bool is_due = now >= watcher.frame_at + kHeartbeat;
  if (frame.is_empty() && !is_due) return std::min(watcher.frame_at + kHeartbeat, watcher.check_at);
  watcher.frame_at = now;
  tell(watcher, std::move(frame).finish(watcher.cursor));
  return is_full ? now + kBetweenFrames : std::min(now + kHeartbeat, watcher.check_at);
}

void Audience::start_snapshot(Watcher& watcher) const {
  watcher.stage = Watcher::Stage::kSnapshot;
  watcher.cursor = recent_.last();
  watcher.list_cursor.reset();
}

void Audience::submit(const WatcherRef& watcher, Work work) {
  const auto ended = [this, watcher] {
    watcher->is_reading = false;
    watcher->not_before = {};
    due_at_ = {};
  };
  const auto read = [watcher, ended, work = std::move(work)]() -> std::function<void()> {
    return [watcher, ended, then = work()] {
      ended();
      if (watcher->stage != Watcher::Stage::kLeaving && !watcher->client->is_closed()) then();
    };
  };
  watcher->is_reading = submit_(read, [watcher, ended] {
    ended();
    watcher->not_before = system_clock().mono() + kStoreAgain;
  });
  watcher->not_before = watcher->is_reading ? kNever : system_clock().mono() + kStoreAgain;
}

void Audience::read_snapshot(const WatcherRef& watcher) {
  submit(watcher, [this, watcher, after = watcher->cursor, cursor = watcher->list_cursor]() -> std::function<void()> {
    GuardedQueue queue(queue_, watcher->watch.principal);
    auto page = snapshot_page(queue, watcher->watch.filter, cursor);
    return [this, watcher, after, page = std::move(page)]() mutable {
      if (watcher->cursor != after) return;  // there was a gap meanwhile
      if (!page) {
        watcher->not_before = system_clock().mono() + kStoreAgain;
        return;
      }
      watcher->frame_at = system_clock().mono();
      watcher->list_cursor = std::move(page->cursor);
      if (!watcher->list_cursor) watcher->stage = Watcher::Stage::kPast;
      tell(*watcher, snapshot_frame(watcher->cursor, page->tasks, watcher->list_cursor.has_value()));
    };
  });
}

void Audience::read_past(const WatcherRef& watcher) {
  submit(watcher, [this, watcher, after = watcher->cursor]() -> std::function<void()> {
    auto past = past_page(queue_, watcher->watch.principal, after);
    return [this, watcher, after, past = std::move(past)] {
      if (watcher->cursor != after) return;  // there was a gap meanwhile
      const MonoTime now = system_clock().mono();
      if (!past) {
        watcher->not_before = now + kStoreAgain;
        return;
      }
      if (past->gap_until) return tell_gap(*watcher, *past->gap_until);
      EventsFrame frame = frame_for(watcher->watch);
      std::int64_t seen = past->page.next;
      for (const Event& event : past->page.events) {
        if (watcher->watch.filter.admits(event)) frame.add(event);
        if (frame.size() < kFrameBytes) continue;
        seen = event.seq;
        break;
      }
      // At the end, until the recent events have got there, too.
      if (std::exchange(watcher->cursor, seen) == seen) watcher->not_before = now + kBetweenFrames;
      if (frame.is_empty()) return;
      watcher->frame_at = now;
      tell(*watcher, std::move(frame).finish(watcher->cursor));
    };
  });
}

void Audience::check_credentials(const WatcherRef& watcher) {
  submit(watcher, [this, watcher]() -> std::function<void()> {
    const auto principal = doorkeeper_.principal(watcher->credentials);
    const bool is_over = principal ? !is_unchanged(watcher->watch.principal, *principal)
                                   : principal.error().code == ErrorCode::kUnauthorised;
    return [this, watcher, is_over] {
      watcher->check_at = system_clock().mono() + tokens_again_;
      if (is_over) dismiss(*watcher, CloseCode::kPolicyViolation, "the token or sign-in is no longer valid");
    };
  });
}

void Audience::tell_gap(Watcher& watcher, std::int64_t seq) {
  tell(watcher, gap_frame(watcher.cursor, seq));
  watcher.frame_at = system_clock().mono();
  watcher.cursor = seq;
  watcher.stage = Watcher::Stage::kPast;
  if (watcher.watch.wants_snapshot) start_snapshot(watcher);
}

void Audience::tell(Watcher& watcher, const LiveFrame& frame) {
  watcher.client->send(format_live(watcher.watch.transport, frame));
}

}  // namespace drover::server
