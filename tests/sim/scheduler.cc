#include "sim/scheduler.h"

#include <algorithm>

namespace drover::sim {

ActorPtr Scheduler::add(std::function<void()> step, std::shared_ptr<ProcessState> state) {
  auto actor = std::make_shared<Actor>(std::move(step), std::move(state));
  actor->number_ = ++actors_;
  return actor;
}

// A function of who and when, not of what happened before: a plan made smaller keeps most of its order.
std::uint64_t Scheduler::tie_break(const Actor& actor, Millis at) const {
  std::uint64_t mixed =
      seed_ ^ (actor.number_ * 0x9e3779b97f4a7c15) ^ (static_cast<std::uint64_t>(at.count()) * 0xc2b2ae3d27d4eb4f);
  mixed = (mixed ^ (mixed >> 31)) * 0xbf58476d1ce4e5b9;
  return mixed ^ (mixed >> 29);
}

void Scheduler::wake(const ActorPtr& actor, Millis at) {
  if (actor->gone_) return;
  if (actor->busy_) {
    actor->due_after_step_ = std::min(actor->due_after_step_, at);
    return;
  }
  if (at >= actor->due_) return;
  actor->due_ = at;
  heap_.push({at, tie_break(*actor, at), ++actor->version_, actor});
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
    if (actor->state_ != nullptr && (actor->state_->frozen_until > clock_.now() || actor->state_->inside_step)) {
      wake(actor, std::max(actor->state_->frozen_until, clock_.now() + Millis{10}));
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
