// Those who watch what happens, over WebSocket or server-sent events. On the loop's thread only.
//
// A watcher is a cursor over the event log. It starts with a snapshot of the tasks, or where it left off; it reads the
// past from the store, page by page, until it is near enough to the present for the recent events in memory. A frame
// goes out when the one before it has left, ten times a second at most: whatever happens in between goes together, and
// a watcher that falls behind what memory has is sent away, to resume when it can. While the server's memory is tight
// no frame is made.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "base/clock.h"
#include "net/http_server.h"
#include "server/follower.h"
#include "server/recent_events.h"
#include "server/server.h"
#include "server/watch.h"

namespace drover::server {

class Audience {
 public:
  // Runs on a thread that may wait; what it returns runs on the loop's thread afterwards.
  using Work = std::function<std::function<void()>()>;
  // False: there is too much to do, and nothing is done. `otherwise` runs on the loop's thread if there was no memory
  // for the work.
  using Submit = std::function<bool(Work, std::function<void()> otherwise)>;
  struct Watcher;
  using WatcherRef = std::shared_ptr<Watcher>;

  // All outlive it.
  Audience(TaskQueue& queue, Doorkeeper& doorkeeper, const ByteBudget& budget, Millis tokens_again, Submit submit);
  ~Audience();

  // The token is looked at again now and then, because it may be revoked.
  void join(Watch watch, std::string token, const std::shared_ptr<HttpConnection>& client);

  // A WebSocket that shows its token in its first message: {"token": "…"}. It gets nothing before join().
  WatcherRef greet(const std::shared_ptr<HttpConnection>& client, const std::string& head,
                   std::function<void(const WatcherRef&, std::string token)> introduce);
  void join(const WatcherRef& guest, Watch watch, std::string token);
  void dismiss(Watcher& watcher, CloseCode code, std::string_view reason);

  void notice(const Pulse& pulse);
  // Sends what is due, for a moment. Returns when to look again.
  [[nodiscard]] MonoTime tick(MonoTime now);
  // The server ends.
  void dismiss_all();
  [[nodiscard]] std::size_t size() const { return watchers_.size(); }

 private:
  void begin(const WatcherRef& watcher, const std::string& head);
  // Returns how many bytes of it the watcher holds now.
  std::size_t receive(const WatcherRef& watcher, std::string_view bytes);
  void take_messages(const WatcherRef& watcher);
  // Answers the latest ping, once what was sent before has left: one answer waits at most, however many pings come.
  static void answer_ping(Watcher& watcher);
  void take_message(const WatcherRef& watcher, const WebSocketMessage& message);
  void take_watch(Watcher& watcher, const WebSocketMessage& message);
  void watch_next(Watcher& watcher, MonoTime now);
  // What this watcher is due now. Returns when to look at it again.
  MonoTime step(const WatcherRef& watcher, MonoTime now);
  MonoTime step_live(Watcher& watcher, MonoTime now);
  void start_snapshot(Watcher& watcher) const;
  void read_snapshot(const WatcherRef& watcher);
  void read_past(const WatcherRef& watcher);
  void check_token(const WatcherRef& watcher);
  void submit(const WatcherRef& watcher, Work work);
  void tell(Watcher& watcher, const LiveFrame& frame);
  void tell_gap(Watcher& watcher, std::int64_t seq);

  TaskQueue& queue_;
  Doorkeeper& doorkeeper_;
  const ByteBudget& budget_;
  const Millis tokens_again_;
  const Submit submit_;
  RecentEvents recent_;
  std::list<WatcherRef> watchers_;  // those whose turn it is next come first
  std::size_t left_in_round_ = 0;   // of those at the front
  bool has_news_ = false;
  MonoTime round_at_{};
  MonoTime due_at_{};
};

}  // namespace drover::server
