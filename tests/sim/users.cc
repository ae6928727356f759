#include "sim/users.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "drover/bulk.h"
#include "sim/sim_process.h"
#include "sim/world.h"

namespace drover::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kUsersPart = 101;
constexpr std::uint64_t kAnswersPart = 102;
constexpr int kTriesMax = 5;  // of what is not worth more

bool has_no_answer(const Error& error) {
  return error_info(error.code).retryable == Retryable::kYes;
}

}  // namespace

Users::Users(World& world)
    : world_(world),
      rng_(derive_seed(world.plan().seed, kUsersPart)),
      answers_rng_(derive_seed(world.plan().seed, kAnswersPart)) {
  for (const Operation& operation : world.plan().operations) {
    auto request = std::make_unique<Request>();
    request->operation = &operation;
    request->actor = world.scheduler().add([this, self = request.get()] { step(*self); });
    world.scheduler().wake(request->actor, operation.at);
    requests_.push_back(std::move(request));
  }
}

void Users::step(Request& request) {
  if (request.tries++ == 0) ++waiting_;
  const std::shared_ptr<SimProcess> server = world_.server(request.operation->server + request.tries);
  if (server == nullptr) return try_again(request);
  switch (request.operation->kind) {
    case Operation::Kind::kEnqueue:
      return enqueue(request, *server);
    case Operation::Kind::kCancel:
      return cancel(request, *server);
    case Operation::Kind::kRetry:
      return retry(request, *server);
    case Operation::Kind::kRequeueStalled:
      return requeue(request, *server);
    case Operation::Kind::kEscalate:
      return escalate(request, *server);
    case Operation::Kind::kDelete:
      return remove(request, *server);
    case Operation::Kind::kEdit:
      return edit(request, *server);
    case Operation::Kind::kBulk:
      return bulk(request, *server);
    case Operation::Kind::kConverse:
      return converse(request, *server);
    case Operation::Kind::kRaise:
      return raise(request, *server);
  }
}

void Users::done(Request& request) {
  request.answered = true;
  --waiting_;
}

void Users::try_again(Request& request) {
  world_.scheduler().wake(request.actor, world_.clock().now() + between(rng_, 100ms, 3s));
}

// The same words each time it is sent.
void Users::prepare(Request& request) {
  const std::vector<TaskPlan>& tasks = request.operation->tasks;
  const auto in_batch = [&](int number) { return std::ranges::find(tasks, number, &TaskPlan::number) != tasks.end(); };
  for (const TaskPlan& task : tasks) {
    TaskSpec spec = task.spec;
    spec.ref = fmt::format("t{}", task.number);
    if (task.chooses_id) {
      spec.id = new_task_id(rng_, world_.clock().wall());
      chose_their_id_.insert(task.number);
    }
    if (task.chooses_request_id) spec.request_id = fmt::format("request-{}", task.number);
    for (const int parent : task.parents) {
      if (in_batch(parent)) {
        spec.depends_on.emplace_back(fmt::format("t{}", parent));
      } else if (const auto known = ids_.find(parent); known != ids_.end()) {
        spec.depends_on.emplace_back(known->second);
      }
    }
    world_.checker().expect_task({.number = task.number, .spec = spec});
    request.specs.push_back(std::move(spec));
  }
}

void Users::enqueue(Request& request, SimProcess& server) {
  if (request.specs.empty()) prepare(request);
  const std::vector<TaskPlan>& tasks = request.operation->tasks;
  const auto answer = server.engine().enqueue(request.specs);
  const bool died = server.dead();
  world_.trace("user enqueues {}..{} at {}: {}", tasks.front().number, tasks.back().number, server.name(),
               died     ? "no answer"
               : answer ? "ok"
                        : to_string(answer.error()));
  const bool safe = tasks.front().chooses_request_id;
  if (died || (!answer && has_no_answer(answer.error()))) {
    request.unknown = true;
    if (safe) return try_again(request);
    return done(request);
  }
  world_.observe();
  const Replay replay = request.unknown || request.answered ? Replay::kPossible : Replay::kImpossible;
  if (!answer) {
    // A replay may meet parents that are gone by now; what it once stored stays.
    if (replay == Replay::kImpossible) {
      for (const TaskPlan& task : tasks) world_.checker().refused(task.number);
    }
    return request.answered ? void() : done(request);
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    ids_[tasks[i].number] = (*answer)[i].id;
    world_.checker().acknowledged(tasks[i].number, (*answer)[i], replay);
  }
  if (request.answered) return;
  done(request);
  if (request.operation->replays) world_.scheduler().wake(request.actor, world_.clock().now() + between(rng_, 1s, 60s));
}

void Users::cancel(Request& request, SimProcess& server) {
  const auto known = ids_.find(request.operation->target);
  if (known == ids_.end()) return done(request);
  world_.checker().cancel_sent(known->second);
  const auto answer = server.engine().cancel(known->second, "no longer needed");
  world_.trace("user cancels {} at {}: {}", request.operation->target, server.name(),
               server.dead() ? "no answer"
               : answer      ? std::string(name_of(answer->state))
                             : to_string(answer.error()));
  if (server.dead() || (!answer && has_no_answer(answer.error())))
    return request.tries < kTriesMax ? try_again(request) : done(request);
  world_.observe();
  if (answer) world_.checker().cancel_acknowledged(known->second, *answer);
  done(request);
}

void Users::retry(Request& request, SimProcess& server) {
  const auto known = ids_.find(request.operation->target);
  if (known == ids_.end()) return done(request);
  world_.checker().retry_sent(known->second);
  RetryOrder order{.verdict = {.by = "ada", .why = "once more"}};
  if (request.operation->wait > Millis{0}) order.run_at = world_.clock().wall() + request.operation->wait;
  const auto answer = server.engine().retry(known->second, order);
  world_.trace("user retries {} at {}: {}", request.operation->target, server.name(),
               server.dead() ? "no answer"
               : answer      ? "ok"
                             : to_string(answer.error()));
  done(request);
}

void Users::escalate(Request& request, SimProcess& server) {
  const auto known = ids_.find(request.operation->target);
  if (known == ids_.end()) return done(request);
  const auto answer = server.engine().escalate(known->second, {.to = "bob", .verdict = {.by = "ada"}});
  world_.trace("user escalates {} at {}: {}", request.operation->target, server.name(),
               server.dead() ? "no answer"
               : answer      ? "ok"
                             : to_string(answer.error()));
  done(request);
}

void Users::remove(Request& request, SimProcess& server) {
  const auto known = ids_.find(request.operation->target);
  // The replay of a request makes a deleted task anew; under the same id that would be a second life of one task, which
  // the checker does not tell apart.
  if (known == ids_.end() || chose_their_id_.contains(known->first)) return done(request);
  world_.checker().delete_sent(known->second);
  const auto answer = server.engine().remove(known->second, {.by = "ada", .why = "not worth it"});
  world_.trace("user deletes {} at {}: {}", request.operation->target, server.name(),
               server.dead() ? "no answer"
               : answer      ? "ok"
                             : to_string(answer.error()));
  done(request);
}

// Another priority, another time, or both.
void Users::edit(Request& request, SimProcess& server) {
  const auto known = ids_.find(request.operation->target);
  if (known == ids_.end()) return done(request);
  EditOrder order{.tags = std::vector<std::string>{"edited"}};
  if (request.operation->priority <= kPriorityMax) order.priority = request.operation->priority;
  if (!order.priority || request.operation->wait > Millis{0}) {
    order.run_at = world_.clock().wall() + request.operation->wait;
  }
  const auto answer = server.engine().edit(known->second, order);
  world_.trace("user edits {} at {}: {}", request.operation->target, server.name(),
               server.dead() ? "no answer"
               : answer      ? std::string(name_of(answer->state))
                             : to_string(answer.error()));
  if (server.dead() || (!answer && has_no_answer(answer.error())))
    return request.tries < kTriesMax ? try_again(request) : done(request);
  done(request);
}

// Asked once: nobody knows whether one without an answer has started.
void Users::bulk(Request& request, SimProcess& server) {
  const Operation& operation = *request.operation;
  BulkOrder order{.verb = operation.retries ? BulkVerb::kRetry : BulkVerb::kCancel,
                  .filter = TaskFilter{.type = operation.type},
                  .verdict = {.by = "ada", .why = fmt::format("bulk {}", ++bulks_)}};
  if (operation.retries) order.filter->states = {TaskState::kFailed, TaskState::kCancelled};
  world_.observe();
  world_.checker().bulk_sent(order.verdict.why, order.verb, operation.type);
  const auto answer = server.engine().start_bulk(order);
  const bool started = answer && !server.dead();
  world_.trace("user starts {} ({} {}) at {}: {}", order.verdict.why, name_of(order.verb), operation.type,
               server.name(), started ? "ok" : "no answer");
  if (started && operation.stops) {
    const auto stopped = server.engine().stop_bulk(answer->id, order.verdict);
    world_.trace("user stops {} at {}: {}", order.verdict.why, server.name(), stopped ? "ok" : "no answer");
  }
  done(request);
}

// Sent again under the same key until it is answered.
void Users::converse(Request& request, SimProcess& server) {
  const Operation& operation = *request.operation;
  const std::string key = fmt::format("o{}", operation.target);
  ConversationAct act = DequeueItems{.batch_key = key};
  if (operation.appends) act = AppendItem{.item = {.item_key = key, .kind = "message"}};
  if (!operation.appends) world_.checker().dequeue_asked(operation.target);
  const auto answer = server.engine().conversation_queue().act(kSimConversation, act);
  const bool is_answered = answer && !server.dead();
  world_.trace("user {} {} at {}: {}", operation.appends ? "appends" : "dequeues", key, server.name(),
               is_answered ? "ok" : "no answer");
  if (!is_answered) return request.tries < kTriesMax ? try_again(request) : done(request);
  if (operation.appends) {
    world_.checker().item_acknowledged(key);
  } else {
    world_.checker().dequeue_answered(operation.target, answer->batch);
  }
  done(request);
}

// Asked once: nobody knows whether one without an answer was raised.
void Users::raise(Request& request, SimProcess& server) {
  const Operation& operation = *request.operation;
  const BudgetPlan& plan = world_.plan().budgets[operation.budget];
  const RaiseOrder order{.gate = plan.gate == "owner:*" ? "owner:team" : plan.gate,
                         .unit = plan.budget.unit,
                         .by_amount = operation.amount,
                         .per = plan.budget.per,
                         .by = "ada",
                         .why = "go on"};
  const auto answer = server.engine().raise_budget(order);
  world_.trace("user raises {} by {} at {}: {}", plan.gate, operation.amount, server.name(),
               answer && !server.dead() ? "ok" : "no answer");
  done(request);
}

void Users::raise_all_budgets() {
  constexpr std::int64_t kPlenty = 1'000'000'000'000;
  const std::shared_ptr<SimProcess> server = world_.server(0);
  if (server == nullptr || world_.plan().budgets.empty()) return;
  const auto budgets = server->engine().budgets();
  if (!budgets || server->dead()) return;
  for (const BudgetStatus& one : *budgets) {
    if (one.raised >= kPlenty) continue;
    std::vector<std::string> gates{one.gate};
    if (one.gate == "owner:*") {
      // Owners that have spent nothing yet are not listed.
      gates = {"owner:default", "owner:team"};
      std::erase_if(gates, [&](const std::string& gate) {
        return std::ranges::find(*budgets, gate, &BudgetStatus::gate) != budgets->end();
      });
    }
    for (const std::string& gate : gates) {
      const auto raised = server->engine().raise_budget({.gate = gate,
                                                         .unit = one.budget.unit,
                                                         .by_amount = kPlenty,
                                                         .per = one.budget.per,
                                                         .by = "ada",
                                                         .why = "the end"});
      world_.trace("user raises {} for good: {}", gate, raised ? "ok" : to_string(raised.error()));
      if (server->dead()) return;
    }
  }
}

void Users::requeue(Request& request, SimProcess& server) {
  const Millis max_age = request.operation->max_age;
  world_.checker().requeue_began(max_age);
  const auto answer = server.engine().requeue_stalled(max_age);
  world_.observe();
  world_.checker().requeue_ended(max_age);
  world_.trace("user requeues what is silent for {} ms at {}: {}", max_age.count(), server.name(),
               server.dead() || !answer ? -1 : *answer);
  done(request);
}

// ---- answers

void Users::asked(const Question& question) {
  if (!asked_.insert(question.id).second || chance(answers_rng_, 15)) return;
  const Millis after = between(answers_rng_, 100ms, 30s);
  add_answerer(question.id, R"("first")", after);
  if (chance(answers_rng_, 40)) {
    add_answerer(question.id, R"("second")", after + between(answers_rng_, 0ms, 5s));
  }
  // In the millisecond of its expiry.
  if (question.expires_at && chance(answers_rng_, 20)) {
    add_answerer(question.id, R"("late")", std::max(Millis{0}, *question.expires_at - world_.clock().wall()));
  }
}

void Users::add_answerer(const QuestionId& question, JsonText value, Millis after) {
  auto answerer = std::make_unique<Answerer>(Answerer{.question = question, .value = std::move(value), .actor = {}});
  answerer->actor = world_.scheduler().add([this, self = answerer.get()] { answer(*self); });
  world_.scheduler().wake(answerer->actor, world_.clock().now() + after);
  answerers_.push_back(std::move(answerer));
}

// An answer that was taken is the only one.
void Users::answer(Answerer& answerer) {
  const std::shared_ptr<SimProcess> server = world_.server(answerer.tries++);
  if (answerer.tries > kTriesMax) return;
  const auto again = [&] {
    world_.scheduler().wake(answerer.actor, world_.clock().now() + between(answers_rng_, 100ms, 3s));
  };
  if (server == nullptr) return again();
  const auto taken = server->engine().answer(answerer.question, {.value = answerer.value, .by = "somebody"});
  const bool died = server->dead();
  world_.trace("somebody answers {} with {}: {}", answerer.question.to_string(), answerer.value,
               died    ? "no answer"
               : taken ? "ok"
                       : to_string(taken.error()));
  if (died || (!taken && has_no_answer(taken.error()))) return again();
  world_.observe();
  if (!taken) return;
  const auto [first, is_first] = acknowledged_.emplace(answerer.question, answerer.value);
  if (is_first) return;
  world_.checker().report("Q1 questions", fmt::format("question {} was answered twice: {} and {}",
                                                      answerer.question.to_string(), first->second, answerer.value));
}

}  // namespace drover::sim
