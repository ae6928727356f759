// The users of the simulated fleet: they enqueue, edit, cancel, retry, escalate, delete, and ask again when they got
// no answer.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "sim/plan.h"
#include "sim/scheduler.h"

namespace drover::sim {

class World;
class SimProcess;

class Users {
 public:
  explicit Users(World& world);

  // A task asks: somebody answers sooner or later, or two do, or nobody.
  void asked(const Question& question);

  // So that no budget is in the way any more.
  void raise_all_budgets();
  // Nobody waits for an answer any more.
  [[nodiscard]] bool content() const { return waiting_ == 0; }

 private:
  struct Request {
    const Operation* operation = nullptr;
    ActorPtr actor;
    std::vector<TaskSpec> specs;
    int tries = 0;
    bool answered = false;
    bool unknown = false;  // an earlier try may have taken effect
  };

  // Somebody who knows an answer.
  struct Answerer {
    QuestionId question;
    JsonText value;
    ActorPtr actor;
    int tries = 0;
  };

  void step(Request& request);
  void add_answerer(const QuestionId& question, JsonText value, Millis after);
  void answer(Answerer& answerer);
  void enqueue(Request& request, SimProcess& server);
  void prepare(Request& request);
  void cancel(Request& request, SimProcess& server);
  void retry(Request& request, SimProcess& server);
  void requeue(Request& request, SimProcess& server);
  void escalate(Request& request, SimProcess& server);
  void remove(Request& request, SimProcess& server);
  void edit(Request& request, SimProcess& server);
  void bulk(Request& request, SimProcess& server);
  void converse(Request& request, SimProcess& server);
  void raise(Request& request, SimProcess& server);
  void done(Request& request);
  void try_again(Request& request);

  World& world_;
  SeededRng rng_;
  std::vector<std::unique_ptr<Request>> requests_;
  std::map<int, TaskId> ids_;     // what they were told
  std::set<int> chose_their_id_;  // numbers of tasks
  int waiting_ = 0;
  int bulks_ = 0;
  SeededRng answers_rng_;  // so that its draws do not move the others'
  std::vector<std::unique_ptr<Answerer>> answerers_;
  std::set<QuestionId> asked_;
  std::map<QuestionId, JsonText> acknowledged_;  // answers that were taken
};

}  // namespace drover::sim
