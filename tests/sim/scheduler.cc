#include "sim/scheduler.h"

#include <algorithm>

namespace drover::sim {

ActorPtr Scheduler::add(std::function<void()> step, std::shared_ptr<ProcessState> state) {
  return std::make_shared<Actor>(std::move(step), std::move(state));
}

void Scheduler::wake(const ActorPtr& actor, Millis at) {
  if (actor->gone_) return;
  if (actor->busy_) {
    actor->due_after_step_ = std::min(actor->due_after_step_, at);
    return;
  }
  if (at >= actor->due_) return;
  actor->due_ = at;
  heap_.push({at, rng_.next(), ++actor->version_, actor});
}

bool Scheduler::run_until(Millis until) {
  while (!stopped_ && !heap_.empty() && heap_.top().at <= until) {
    const Entry entry = heap_.top();
    heap_.pop();
    const ActorPtr& actor = entry.actor;
    if (actor->gone_ || entry.version != actor->version_ || actor->due_ == kNever) continue;
    actor->due_ = kNever;
    clock_.move_to(entry.at);
    if (actor->state_ != nullptr && actor->state_->dead) continue;
    if (actor->state_ != nullptr && actor->state_->frozen_until > clock_.now()) {
      wake(actor, actor->state_->frozen_until);
      continue;
    }
    step(actor);
  }
  if (!stopped_) clock_.move_to(until);
  return !stopped_;
}

void Scheduler::step(const ActorPtr& actor) {
  ++steps_;
  actor->busy_ = true;
  actor->step_();
  actor->busy_ = false;
  if (actor->due_after_step_ != kNever) {
    const Millis at = std::max(std::exchange(actor->due_after_step_, kNever), clock_.now());
    wake(actor, at);
  }
  if (after_step_ && !after_step_()) stopped_ = true;
}

void Scheduler::run_others(Millis how_long) {
  if (depth_ >= kDepthMax) return;
  ++depth_;
  run_until(clock_.now() + how_long);
  --depth_;
}

}  // namespace drover::sim
