#include "store/redis/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/try.h"
#include "store/redis/reply_error.h"

namespace drover::redis {
namespace {

using std::chrono::steady_clock;

// What one write carries, and what is kept of its buffer afterwards.
constexpr std::size_t kBatchBytesMax = std::size_t{4} << 20;
constexpr std::size_t kBatchCallersMax = 1'000;

LinkOptions without_preparation(LinkOptions options) {
  options.on_connect = nullptr;
  return options;
}

Error unanswered(const Error& why) {
  return {why.code, why.message + "; the command may have taken effect", why.operation};
}

}  // namespace

struct Client::Pending {
  explicit Pending(std::span<const Command> to_send) : commands(to_send) {
    for (const Command& command : to_send) bytes += command.bytes();
  }

  std::span<const Command> commands;
  std::size_t bytes = 0;
  std::optional<Result<std::vector<Reply>>> answer;
  bool taken = false;  // into a batch: its answer will come
  bool leads = false;
  std::condition_variable wake;
};

Client::Client(ClientOptions options)
    : call_timeout_(options.call_timeout),
      watch_(options.watch),
      link_(options),
      blocking_options_(without_preparation(options)) {}

Result<Reply> Client::call(const Command& command) {
  auto replies = TRY(call(std::span(&command, 1)));
  if (const auto failure = failure_of(replies.front())) return std::unexpected(*failure);
  return std::move(replies.front());
}

Result<std::vector<Reply>> Client::call(std::span<const Command> commands) {
  if (commands.empty()) return std::vector<Reply>();
  Pending self(commands);
  if (auto failure = wait_for_turn(self)) return std::unexpected(*std::move(failure));
  if (self.answer) return *std::move(self.answer);
  while (!self.answer) lead();
  const std::lock_guard lock(mutex_);
  pass_lead_on();
  return *std::move(self.answer);
}

// Returns when the caller is answered or leads; fails when neither came in time.
std::optional<Error> Client::wait_for_turn(Pending& self) {
  const auto deadline = steady_clock::now() + call_timeout_;
  std::unique_lock lock(mutex_);
  line_.push_back(&self);
  if (!led_) {
    led_ = true;
    return std::nullopt;
  }
  const auto has_turn = [&] { return self.answer || self.leads; };
  if (self.wake.wait_until(lock, deadline, has_turn)) return std::nullopt;
  if (self.taken) {
    self.wake.wait(lock, has_turn);
    return std::nullopt;
  }
  std::erase(line_, &self);
  return Error{ErrorCode::kStoreUnavailable,
               fmt::format("Redis is too slow: not sent within {} ms", call_timeout_.count()), "redis.call"};
}

void Client::pass_lead_on() {
  led_ = !line_.empty();
  if (!led_) return;
  line_.front()->leads = true;
  line_.front()->wake.notify_one();
}

void Client::lead() {
  const std::vector<Pending*> batch = take_batch();
  answer(batch, send(batch));
}

std::vector<Client::Pending*> Client::take_batch() {
  const std::lock_guard lock(mutex_);
  std::vector<Pending*> batch;
  std::size_t bytes = 0;
  while (!line_.empty() && batch.size() < kBatchCallersMax) {
    Pending* next = line_.front();
    bytes += next->bytes;
    if (!batch.empty() && bytes > kBatchBytesMax) break;
    line_.pop_front();
    next->taken = true;
    batch.push_back(next);
  }
  return batch;
}

void Client::answer(const std::vector<Pending*>& batch, Result<std::vector<Reply>> replies) {
  const std::lock_guard lock(mutex_);
  auto next =
      replies ? std::make_move_iterator(replies->begin()) : std::make_move_iterator(std::vector<Reply>::iterator());
  for (Pending* pending : batch) {
    if (replies) {
      const auto end = next + static_cast<std::ptrdiff_t>(pending->commands.size());
      pending->answer = std::vector<Reply>(next, end);
      next = end;
    } else {
      pending->answer = std::unexpected(replies.error());
    }
    pending->wake
        .notify_one();  // under the mutex: the waiter may end, and its condition with it, as soon as it is free
  }
}

Result<std::vector<Reply>> Client::send(const std::vector<Pending*>& batch) {
  const auto connection = TRY(link_.get());
  std::vector<const Command*> commands;
  for (const Pending* pending : batch) {
    for (const Command& command : pending->commands) commands.push_back(&command);
  }
  if (watch_) {
    watch_->sending();
    commands.push_back(&watch_->question);
  }
  Result<std::vector<Reply>> replies = exchange(*connection, commands);
  if (!replies) return replies;
  if (watch_) {
    const Reply answer = std::move(replies->back());
    replies->pop_back();
    commands.pop_back();
    judge(answer);
  }
  TRY(call_missing_again(*connection, commands, *replies));
  if (std::ranges::any_of(*replies, ends_connection)) link_.drop();
  return replies;
}

// The callers have their replies, whatever follows from the answer.
void Client::judge(const Reply& answer) {
  if (!watch_ || watch_->judge(answer) == BatchWatch::Verdict::kFine) return;
  if (const Status prepared = link_.prepare_again(); !prepared) link_.lost(prepared.error());
}

Result<std::vector<Reply>> Client::exchange(Connection& connection, const std::vector<const Command*>& commands) {
  buffer_.clear();
  for (const Command* command : commands) command->append_to(buffer_);
  Result<std::vector<Reply>> replies = connection.exchange(buffer_, commands.size(), Patience::of(call_timeout_));
  if (buffer_.capacity() > kBatchBytesMax) buffer_ = {};
  if (replies) {
    link_.worked();
    return replies;
  }
  link_.lost(replies.error());
  return std::unexpected(unanswered(replies.error()));
}

Status Client::call_missing_again(Connection& connection, const std::vector<const Command*>& commands,
                                  std::vector<Reply>& replies) {
  std::vector<const Command*> missing;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (is_function_missing(replies[i])) missing.push_back(commands[i]);
  }
  if (missing.empty()) return {};
  if (const Status prepared = link_.prepare_again(); !prepared) {
    // The others have their replies. These keep their refusal, and the next call is told the reason.
    link_.lost(prepared.error());
    return {};
  }
  auto repeated = TRY(exchange(connection, missing));
  auto next = repeated.begin();
  for (Reply& reply : replies) {
    if (is_function_missing(reply)) reply = std::move(*next++);
  }
  return {};
}

std::unique_ptr<Link> Client::take_blocking_link() {
  const std::lock_guard lock(blocking_mutex_);
  if (idle_blocking_.empty()) return std::make_unique<Link>(blocking_options_);
  std::unique_ptr<Link> link = std::move(idle_blocking_.back());
  idle_blocking_.pop_back();
  return link;
}

Result<Reply> Client::blocking_call(const Command& command, Millis timeout, const Interrupt& interrupt) {
  if (interrupt.is_raised()) return Reply();
  std::unique_ptr<Link> link = take_blocking_link();
  Result<Reply> reply = call_on(*link, command, Patience::of(timeout + call_timeout_, &interrupt), interrupt);
  if (!reply) interrupt.wait(std::min(link->pause_left(), timeout));
  const std::lock_guard lock(blocking_mutex_);
  idle_blocking_.push_back(std::move(link));
  return reply;
}

Result<Reply> Client::call_on(Link& link, const Command& command, const Patience& patience,
                              const Interrupt& interrupt) {
  const Result<Connection*> connection = link.get(&interrupt);
  Result<Reply> reply = connection ? (*connection)->call(command, patience) : std::unexpected(connection.error());
  if (reply) {
    link.worked();
    if (ends_connection(*reply)) link.drop();
    if (const auto failure = failure_of(*reply)) return std::unexpected(*failure);
    return reply;
  }
  if (interrupt.is_raised()) {
    link.drop();  // the command still waits on it
    return Reply();
  }
  if (!connection) return reply;
  link.lost(reply.error());
  return std::unexpected(unanswered(reply.error()));
}

}  // namespace drover::redis
