#include "differential/differential.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/rng.h"
#include "core/budget_json.h"
#include "core/fingerprint.h"
#include "core/question_json.h"
#include "core/session_record.h"
#include "core/task_json.h"
#include "differential/side.h"
#include "support/manual_clock.h"
#include "wire/bulk.h"
#include "wire/conversation.h"
#include "wire/write.h"

namespace drover::test {
namespace {

constexpr int kDumpEvery = 200;
constexpr std::size_t kKnownMax = 300;  // tasks that operations refer to

// The first line that differs, with the one before it.
std::string first_difference(const std::string& a, const std::string& b) {
  std::size_t line = 0;
  std::size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) {
    if (a[at] == '\n') line = at + 1;
    ++at;
  }
  const auto line_in = [&](const std::string& text) { return text.substr(line, text.find('\n', line) - line); };
  return fmt::format("first:  {}\nsecond: {}", line_in(a), line_in(b));
}

class Driver {
 public:
  Driver(const OpenStore& first, const OpenStore& second, std::uint64_t seed)
      : rng_(seed), first_(first, clock_, seed), second_(second, clock_, seed) {}

  std::optional<Difference> run(int operations) {
    for (int i = 1; i <= operations && !difference_; ++i) {
      number_ = i;
      operate();
      both("budgets", [this](Side& side) { return has_budgets_ ? budgets_of(side) : std::string(); });
      if (i % kDumpEvery == 0 || i == operations) compare_dumps();
    }
    return difference_;
  }

 private:
  // ---- chance

  std::uint64_t below(std::uint64_t bound) { return rng_.below(bound); }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class T>
  const T& any_of(const std::vector<T>& items) {
    return items[below(items.size())];
  }
  std::string any_type() { return fmt::format("t{}", below(4)); }
  std::string any_queue() { return fmt::format("q{}", below(3)); }
  std::string any_owner() { return fmt::format("o{}", below(4)); }
  std::string any_gate() {
    switch (below(7)) {
      case 6:
        return fmt::format("session:{}::s{}", any_owner(), below(2));
      case 0:
        return "all";
      case 1:
        return "queue:" + any_queue();
      case 2:
        return "type:" + any_type();
      case 3:
        return "owner:" + any_owner();
      case 4:
        return fmt::format("lock:l{}", below(2));
      default:
        return fmt::format("provider:p{}", below(2));
    }
  }

  // ---- comparing

  // Runs one operation on both sides; `call` answers with text.
  template <class Call>
  std::string both(const std::string& what, Call call) {
    const std::string a = call(first_);
    const std::string b = call(second_);
    if (a != b && !difference_) difference_ = Difference{number_, what + "\n" + first_difference(a, b)};
    return a;
  }

  void compare_dumps() {
    if (difference_) return;
    std::int64_t after_first = events_after_;
    std::int64_t after_second = events_after_;
    const std::string a = dump(first_, after_first);
    const std::string b = dump(second_, after_second);
    events_after_ = after_first;
    if (a != b) difference_ = Difference{number_, "the dumps differ\n" + first_difference(a, b)};
    if (const std::size_t found = a.find("FSCK"); found != std::string::npos && !difference_) {
      difference_ = Difference{number_, a.substr(found, 500)};
    }
  }

  // ---- operations

  void operate() {
    const std::uint64_t kind = below(112);
    if (kind < 24) return enqueue();
    if (kind < 48) return claim();
    if (kind < 72) return settle();
    if (kind < 80) return pass_time();
    if (kind < 83) return note();
    if (kind < 86) return renew();
    if (kind < 88) return cancel();
    if (kind < 90) return edit();
    if (kind < 91) return retry();
    if (kind < 92) return escalate();
    if (kind < 93) return remove();
    if (kind < 94) return set_gate();
    if (kind < 95) return reset_session();
    if (kind < 96) return configure();
    if (kind < 98) return list();
    if (kind < 99) return bulk();
    if (kind < 100) return explain();
    if (kind < 106) return converse();
    if (kind < 109) return ask();
    if (kind < 111) return reply();
    raise_budget();
  }

  void ask() {
    if (held_.empty()) return;
    const Lease lease = any_of(held_);
    QuestionSpec spec{.text = fmt::format("which | \"one\" {}?", below(3))};
    if (one_in(3)) spec.options = {"first", "second"};
    if (one_in(3)) spec.default_answer = R"("first")";
    if (one_in(2)) spec.expires = Millis(1'000 + below(30'000));
    if (one_in(4)) spec.to = AskedOf::kSpawner;
    if (one_in(4)) spec.key = fmt::format("k{}", below(2));
    both("ask", [&](Side& side) {
      const auto asked = side.engine().ask(lease, spec);
      if (&side == &first_ && asked) asked_.push_back(asked->id);
      return text_of(asked, [](const Question& question) { return to_json(question); });
    });
  }

  void reply() {
    if (asked_.empty()) return;
    const QuestionId id = any_of(asked_);
    const AnswerOrder order{.value = one_in(3) ? R"("other")" : R"("second")", .by = "ada"};
    const bool withdraws = one_in(4);
    both("reply", [&](Side& side) {
      return text_of(withdraws ? side.engine().withdraw_question(id, {.by = "ada", .why = "no \"need\""})
                               : side.engine().answer(id, order),
                     [](const Question& question) { return to_json(question); });
    });
  }

  void raise_budget() {
    RaiseOrder order{.gate = any_gate(), .unit = kBudgetUnits[below(kBudgetUnitCount)], .by = "ada", .why = "more"};
    order.by_amount = static_cast<std::int64_t>(1 + below(5'000));
    if (one_in(2)) order.per = static_cast<BudgetPer>(below(2));
    both("raise_budget", [&](Side& side) {
      return text_of(side.engine().raise_budget(order), [](const BudgetStatus& budget) { return to_json(budget); });
    });
  }

  void reset_session() {
    const SessionName name{.owner = any_owner(), .name = fmt::format("s{}", below(2))};
    both("reset_session", [&](Side& side) {
      return text_of(side.engine().reset_session(name, {.by = "ada", .why = "why"}),
                     [](const SessionInfo& session) { return to_json(session); });
    });
  }

  TaskSpec any_spec() {
    TaskSpec spec{.type = any_type()};
    if (!one_in(4)) spec.queue = any_queue();
    if (!one_in(4)) spec.owner = any_owner();
    if (!one_in(3)) spec.priority = static_cast<int>(below(10));
    if (one_in(2)) spec.payload = fmt::format(R"({{"n":{},"é":1e400,"k":0.10}})", below(5));
    if (one_in(8)) spec.prompt = "do \"it\" | well\n";
    if (one_in(8)) spec.tags = {fmt::format("tag{}", below(3))};
    if (one_in(8)) spec.delay = Millis(below(20'000));
    if (one_in(10)) spec.deadline = Millis(1 + below(60'000));
    if (one_in(20)) spec.fallback_result = "[1]";
    if (one_in(6)) spec.locks = {fmt::format("l{}", below(2))};
    if (one_in(6)) {
      spec.session = fmt::format("s{}", below(2));
      if (one_in(3)) spec.busy = static_cast<BusyRule>(below(3));
      if (one_in(2)) spec.bootstrap = fmt::format(R"({{"key":"k{}","text":"know | this"}})", below(2));
    }
    if (one_in(6)) spec.cost = static_cast<std::int64_t>(1 + below(3));
    if (one_in(6)) spec.request_id = fmt::format("r{}", below(30));
    if (one_in(6)) {
      spec.dedupe = static_cast<DedupeMode>(below(5));
      if (one_in(2)) spec.dedupe_key = fmt::format("d{}", below(4));
    }
    if (one_in(5)) spec.max_attempts = static_cast<int>(1 + below(3));
    if (one_in(12)) spec.at_most_once = true;
    if (one_in(6)) spec.on_parent_failure = static_cast<OnParentFailure>(below(3));
    if (one_in(6) && !known_.empty()) spec.depends_on.emplace_back(any_of(known_));
    if (one_in(12) && !known_.empty()) spec.parent_id = any_of(known_);
    if (one_in(8) && !held_.empty()) spec.parent_id = any_of(held_).task;
    if (one_in(12)) spec.max_suspends = static_cast<int>(below(3));
    if (one_in(12)) spec.budget = fmt::format(R"({{"tokens":{}}})", 1 + below(2'000));
    return spec;
  }

  void enqueue() {
    std::vector<TaskSpec> group{any_spec()};
    if (one_in(4)) {
      group.front().ref = "a";
      const std::uint64_t more = 1 + below(5);
      for (std::uint64_t i = 0; i < more; ++i) {
        group.push_back(any_spec());
        if (one_in(2)) group.back().depends_on.emplace_back(std::string("a"));
      }
    }
    both("enqueue", [&](Side& side) {
      const auto answer = side.engine().enqueue(group);
      if (&side == &first_ && answer) {
        for (const Enqueued& enqueued : *answer) remember(enqueued.id);
      }
      return text_of(answer, [](const auto& all) { return text_of_all(all); });
    });
  }

  void remember(const TaskId& id) {
    if (known_.size() >= kKnownMax) known_.erase(known_.begin());
    known_.push_back(id);
  }

  void claim() {
    ClaimRequest request;
    request.worker_id = fmt::format("host:1:w{}", below(3));
    const std::uint64_t serves = 1 + below(3);
    for (std::uint64_t i = 0; i < serves; ++i) {
      Serve serve{any_queue(), std::nullopt};
      if (one_in(3)) serve = {any_type(), std::nullopt};
      if (one_in(3)) serve.type = any_type();
      request.serves.push_back(serve);
    }
    request.n = static_cast<int>(1 + below(one_in(4) ? 40 : 6));
    request.lease = Millis(5'000 + below(20'000));
    request.capacity = request.n;
    if (one_in(3)) {
      // Few keys, so that claims are repeated; and a worker that is not registered.
      if (one_in(2)) request.worker_id = "host:1:w9";
      request.claim_key = fmt::format("k{}", below(3));
    }
    if (one_in(6)) {
      both("register", [&](Side& side) {
        return text_of(
            side.engine().register_worker({.id = request.worker_id, .version = "1", .serves = {{.queue = "q0"}}}));
      });
    }
    both("claim", [&](Side& side) {
      const auto answer = side.engine().claim(request);
      if (&side == &first_ && answer) {
        for (const ClaimedTask& task : *answer) held_.push_back(task.lease);
      }
      return text_of(answer, [](const std::vector<ClaimedTask>& claimed) {
        std::string text;
        for (const ClaimedTask& task : claimed) {
          text += fmt::format("{} {} after {} runs, session {}\n", to_json(task.task), task.lease.id.to_string(),
                              task.earlier_runs.size(), task.session ? to_json(*task.session) : "-");
        }
        return text;
      });
    });
  }

  Settlement any_end(const Lease& lease) {
    Settlement item{.lease = lease, .end = Completion{}};
    switch (below(8)) {
      case 0:
        item.end = Release{};
        break;
      case 1:
        item.end = CancelConfirmed{};
        break;
      case 4:
        item.end = Suspend{};
        break;
      case 2:
      case 3: {
        Failure failure;
        failure.error_class = static_cast<ErrorClass>(below(std::to_underlying(ErrorClass::kStalled)));
        failure.message = "no | luck";
        if (one_in(2)) failure.retry_after = Millis(below(30'000));
        if (one_in(8)) failure.waits_at = any_gate();
        item.end = failure;
        break;
      }
      default: {
        Completion completion;
        if (one_in(2)) completion.result = R"({"ok":true})";
        item.end = completion;
      }
    }
    if (one_in(3)) item.report = any_report();
    return item;
  }

  RunReport any_report() {
    RunReport report{.agent = AgentState{.preset = "claude", .session_id = "s | 1", .host = "here"},
                     .usage = Usage{.tokens = {.output = static_cast<std::int64_t>(below(1'000))}}};
    report.at_door = one_in(6);
    if (one_in(2)) {
      report.usage->cost = static_cast<MicroDollars>(below(3'000));
      report.usage->basis = CostBasis::kReported;
    }
    report.usage->models[one_in(2) ? "opus" : "ha|iku"] = {.tokens = report.usage->tokens};
    return report;
  }

  void settle() {
    if (held_.empty()) return;
    std::vector<Settlement> items;
    const std::uint64_t count = 1 + below(std::min<std::uint64_t>(held_.size(), 8));
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t at = below(held_.size());
      items.push_back(any_end(held_[at]));
      if (one_in(8)) settled_ = items.back();
      held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    // Some are said again, or otherwise.
    if (settled_ && one_in(4)) items.push_back(one_in(3) ? any_end(settled_->lease) : *settled_);
    both("settle", [&](Side& side) {
      std::string text;
      for (const auto& answer : side.engine().settle(items)) {
        text += text_of(answer,
                        [](const Settled& settled) {
                          return fmt::format("{} {}", name_of(settled.state), settled.replayed.value_or(""));
                        }) +
                "\n";
      }
      return text;
    });
  }

  void pass_time() {
    clock_.advance(Millis(one_in(6) ? below(60'000) : below(3'000)));
    if (one_in(60)) clock_.advance(Millis(below(86'400'000)));  // often into another day
    both("sweep", [](Side& side) {
      return text_of(side.sweepers().run_once(), [](const SweepReport& report) {
        return fmt::format("promoted {} deadlines {} reclaimed {} cascades {} bulk {}", report.promoted,
                           report.deadlines, report.reclaimed, report.cascades, report.bulk);
      });
    });
  }

  void note() {
    if (held_.empty()) return;
    const Lease lease = any_of(held_);
    const std::uint64_t kind = below(4);
    const RunReport report = any_report();
    both("note", [&](Side& side) {
      if (kind == 0) return text_of(side.engine().progress(lease, {static_cast<int>(kind), "half | way"}));
      if (kind == 1) return text_of(side.engine().checkpoint(lease, "{\"at\":1}"));
      if (kind == 2) {
        return text_of(side.engine().report(lease, report), [](const ReportAnswer& answer) { return to_json(answer); });
      }
      const std::vector<LogChunk> chunks{{LogStream::kOut, "line\n"}};
      return text_of(side.engine().append_log(lease, chunks));
    });
  }

  void renew() {
    std::vector<Lease> leases;
    for (const Lease& lease : held_) {
      if (one_in(2)) leases.push_back(lease);
    }
    both("renew", [&](Side& side) {
      return text_of(side.engine().renew("host:1:w0", leases, Millis(20'000)), [](const Beat& beat) {
        std::string text = beat.drain ? "drain " : "";
        for (const LeaseState state : beat.leases) text += std::to_string(static_cast<int>(state));
        return text;
      });
    });
  }

  void cancel() {
    if (known_.empty()) return;
    const TaskId id = any_of(known_);
    both("cancel", [&](Side& side) {
      return text_of(side.engine().cancel(id, "enough"), [](const CancelOutcome& outcome) {
        return fmt::format("{} {} {}", name_of(outcome.state), outcome.cancelled, outcome.requested);
      });
    });
  }

  void retry() {
    if (known_.empty()) return;
    const TaskId id = any_of(known_);
    RetryOrder order{.verdict = {.by = "me", .why = "again | \"now\""}};
    if (one_in(4)) order.payload = R"({"n": 7, "new": "ü"})";
    if (!order.payload && one_in(4)) order.patch = R"({"n": null, "patched": [1.50]})";
    if (one_in(3)) order.run_at = clock_.wall() + Millis(below(20'000));
    both("retry", [&](Side& side) {
      return text_of(side.engine().retry(id, order), [](const Task& task) { return to_json(task); });
    });
  }

  // One of two conversations, with few keys, so that repeats and conflicts happen.
  ConversationAct any_act() {
    const auto name = [&](std::string_view kind) { return fmt::format("{}{}", kind, below(12)); };
    switch (below(12)) {
      case 0:
        return AckBatch{.batch_id = batch_id(static_cast<std::int64_t>(1 + below(20)))};
      case 1:
        return ClearItems{.reason = "error"};
      case 2:
        return RemoveItem{.id = item_id(static_cast<std::int64_t>(1 + below(40)))};
      case 3:
        if (lease_ && one_in(2)) return TakeConsumer{.lease_id = *lease_};
        return TakeConsumer{.take_key = name("t")};
      case 4:
        return ReleaseConsumer{.lease_id = lease_.value_or("none")};
      case 5:
        return any_mirror();
      case 6:
      case 7:
        if (one_in(4)) return DequeueItems{.batch_key = name("b"), .keep = true};
        return DequeueItems{.batch_key = one_in(3) ? "" : name("b"), .instance = name("i")};
      case 8:
        return DequeueItems{.n = static_cast<int>(below(4)), .batch_key = name("b"), .redeliver = true};
      default: {
        AppendItem act{.item = {.item_key = fmt::format("k{}", below(200)), .kind = "message"}};
        if (one_in(4)) act.item.kind = "approval_result";
        if (one_in(4)) act.item.agent_id = "a | \"b\"";
        act.item.body = R"({"é": 1e400, "k":0.10})";
        if (one_in(6)) act.limits = QueueLimits{.max_items = 3, .hard_max_items = 6};
        return act;
      }
    }
  }

  MirrorItems any_mirror() {
    MirrorItems act{.lease_id = lease_.value_or("none"), .from_op = last_op_ + 1};
    if (last_op_ > 0 && one_in(3)) act.from_op = last_op_;
    for (std::uint64_t i = 0; i < 1 + below(4); ++i) {
      MirrorOp op{.kind = static_cast<MirrorOp::Kind>(below(6))};
      op.item = {.item_key = fmt::format("m{}", below(50)), .kind = "message"};
      for (std::uint64_t k = 0; k < below(3); ++k) op.item_keys.push_back(fmt::format("m{}", below(50)));
      op.batch_key = fmt::format("turn-{}", below(5));
      op.redeliver = one_in(2);
      act.ops.push_back(std::move(op));
    }
    return act;
  }

  void converse() {
    const ConversationName name{"ann", one_in(2) ? "one" : "two"};
    const ConversationAct act = any_act();
    both("converse", [&](Side& side) {
      const auto reply = side.engine().conversation_queue().act(name, act);
      if (reply && reply->lease_id) lease_ = reply->lease_id;
      if (reply && (reply->lease_id || reply->last_op > 0)) last_op_ = reply->last_op;
      return text_of(reply, [](const ConversationReply& answer) { return to_json(answer); });
    });
  }

  BulkOrder any_bulk() {
    BulkOrder order{.verb = static_cast<BulkVerb>(below(kBulkVerbCount)),
                    .verdict = {.by = "me", .why = "all of \"them\""}};
    if (one_in(4) && !known_.empty()) {
      order.ids.push_back(any_of(known_));
      if (const TaskId other = any_of(known_); other != order.ids.front()) order.ids.push_back(other);
    } else {
      TaskFilter& filter = order.filter.emplace();
      if (one_in(2)) filter.type = any_type();
      if (one_in(2)) filter.owner = any_owner();
      if (one_in(4)) filter.tag = fmt::format("tag{}", below(3));
      if (one_in(4)) filter.states = {static_cast<TaskState>(below(kTaskStateCount))};
    }
    if (order.verb == BulkVerb::kEdit) order.edit = EditOrder{.priority = static_cast<int>(below(10))};
    if (order.verb == BulkVerb::kEscalate) order.to = "bob";
    if (order.verb == BulkVerb::kRetry && one_in(2)) order.retry = RetryOrder{.patch = R"({"n": null, "bulk": 1})"};
    return order;
  }

  // It is carried out when time passes; now and then it is stopped before.
  void bulk() {
    const BulkOrder order = any_bulk();
    const bool stops = one_in(8);
    both("bulk", [&](Side& side) {
      const auto preview = side.engine().preview_bulk(order);
      std::string text = text_of(preview, [](const BulkPreview& counted) { return to_json(counted); });
      const auto started = side.engine().start_bulk(order);
      text += text_of(started, [](const BulkOperation& operation) { return to_json(operation); });
      if (!started || !stops) return text;
      return text + text_of(side.engine().stop_bulk(started->id, {.by = "you"}),
                            [](const BulkOperation& operation) { return to_json(operation); });
    });
  }

  void edit() {
    if (known_.empty()) return;
    const TaskId id = any_of(known_);
    EditOrder order;
    if (one_in(2)) order.priority = static_cast<int>(below(10));
    if (one_in(3)) order.delay = Millis(one_in(2) ? 0 : below(20'000));
    if (!order.delay && one_in(4)) order.run_at = clock_.wall() + Millis(below(20'000));
    if (one_in(4)) order.payload = R"({"n": 9, "edited": "ü"})";
    if (!order.payload && one_in(4)) order.patch = R"({"n": null, "patched": 2.50})";
    if (one_in(3)) order.tags = one_in(3) ? std::vector<std::string>{} : std::vector{fmt::format("tag{}", below(3))};
    const bool knows_the_version = one_in(4);
    both("edit", [&](Side& side) {
      EditOrder own = order;
      if (knows_the_version) {
        const auto seen = side.engine().get(id);
        own.version = seen ? version_of(*seen) : "gone";
      }
      return text_of(side.engine().edit(id, own), [](const Task& task) { return to_json(task); });
    });
  }

  void escalate() {
    if (known_.empty()) return;
    const TaskId id = any_of(known_);
    const EscalateOrder order{.to = "ada", .verdict = {.by = "me", .why = "look | here"}};
    both("escalate", [&](Side& side) {
      return text_of(side.engine().escalate(id, order), [](const Task& task) { return to_json(task); });
    });
  }

  void remove() {
    if (known_.empty()) return;
    const TaskId id = any_of(known_);
    both("remove", [&](Side& side) { return text_of(side.engine().remove(id, {.by = "me", .why = "gone"})); });
  }

  void set_gate() {
    GateOrder order{.gate = any_gate(), .what = GateOrder::Open{}, .why = "test", .by = "me"};
    if (one_in(3)) order.what = GateOrder::Limit{one_in(3) ? std::nullopt : std::optional(static_cast<int>(below(4)))};
    if (one_in(5)) order.what = GateOrder::Close{one_in(3) ? kUntilOpened : clock_.wall() + Millis(1 + below(20'000))};
    both("gate " + order.gate, [&](Side& side) {
      return text_of(side.engine().set_gate(order), [](const GateStatus& gate) { return text_of(gate); });
    });
  }

  // A list of them, or none. One of each unit and period.
  std::string any_budgets() {
    if (one_in(3)) return "";
    std::string list = fmt::format(R"({{"tokens":{},"per":"day"}})", 500 + below(5'000));
    if (one_in(2)) list += fmt::format(R"(,{{"usd":0.00{},"on_breach":"fail"}})", 1'000 + below(9'000));
    if (one_in(3)) list += fmt::format(R"(,{{"wall":"{}s","per":"day"}})", 10 + below(90));
    return fmt::format(R"("budgets":[{}])", list);
  }

  // What is set aside for a run of each type. All of them say so, because a budget may cover them.
  std::string any_shares() {
    return fmt::format(R"("budget_per_run":{{"tokens":{},"usd":0.00{},"turns":1,"wall":"{}s"}})",
                       one_in(4) ? 0 : 100 + below(500), 1'000 + below(2'000), 1 + below(10));
  }

  void configure() {
    const std::string owners = any_budgets();
    const std::string all = any_budgets();
    const std::string provider = any_budgets();
    has_budgets_ = has_budgets_ || !owners.empty() || !all.empty() || !provider.empty();
    const std::string document = fmt::format(
        R"({{"owners":{{"default":{{"weight":{}{}{}}},"o1":{{"weight":{}}}}},)"
        R"("gates":{{"all":{{{}}},"provider:p1":{{{}}}}},)"
        R"("queues":{{"q0":{{"rate":"{}/s","burst":{}}},"q1":{{"permits":{}}}}},)"
        R"("types":{{"t0":{{{}}},"t1":{{"provider":"p0","breaker":{{"failures":{},"window":"60s","open":"20s"}},{}}},)"
        R"("t2":{{"provider":"p1",{}}},"t3":{{{}}}}}}})",
        1 + below(3), one_in(2) ? fmt::format(",\"permits\":{}", 1 + below(5)) : "", owners.empty() ? "" : "," + owners,
        1 + below(5), all, provider, 1 + below(5), 3 + below(5), 1 + below(6), any_shares(), 2 + below(3), any_shares(),
        any_shares(), any_shares());
    both("config", [&](Side& side) {
      const auto config = side.engine().config();
      if (!config) return fmt::format("error {}", to_string(config.error()));
      return text_of(side.engine().apply_config(document, config->version),
                     [](const Config& applied) { return fmt::format("{} {}", applied.version, applied.document); });
    });
  }

  void list() {
    TaskFilter filter;
    if (one_in(2)) filter.type = any_type();
    if (one_in(2)) filter.owner = any_owner();
    if (one_in(3)) filter.tag = "tag1";
    if (one_in(2)) filter.states = {static_cast<TaskState>(below(8)), static_cast<TaskState>(below(8))};
    if (one_in(4)) filter.error_class = ErrorClass::kAgentError;
    if (one_in(4)) filter.fingerprint = fingerprint({ErrorClass::kAgentError, "no | luck"});
    if (one_in(4)) filter.escalated = one_in(2);
    if (one_in(4)) filter.finished_before = clock_.wall() - Millis(10'000);
    if (one_in(4)) filter.created_since = clock_.wall() - Millis(below(20'000));
    if (one_in(4)) filter.created_until = clock_.wall() - Millis(below(5'000));
    if (one_in(4)) filter.search = one_in(2) ? "luck" : "1";
    if (one_in(8)) filter.worker_id = "host:1:w1";
    if (one_in(8) && !known_.empty()) filter.id_prefix = any_of(known_).to_string().substr(0, 1 + below(36));
    both("groups", [&](Side& side) {
      return text_of(side.engine().error_groups(filter), [](const auto& groups) {
        std::string text;
        for (const ErrorGroup& group : groups) text += to_json(group) + "\n";
        return text;
      });
    });
    both("list", [&](Side& side) {
      return text_of(side.engine().list(filter, 20, std::nullopt), [](const TaskPage& page) {
        std::string text;
        for (const Task& task : page.tasks) text += task.id.to_string() + "\n";
        return text + (page.cursor ? "more" : "all") +
               (page.searched ? fmt::format(" of {}", page.searched->tasks) : "");
      });
    });
  }

  void keep_view() {
    const std::optional<std::string> owner = one_in(2) ? std::optional<std::string>("o1") : std::nullopt;
    const std::string name = fmt::format("view {}", below(4));
    if (one_in(3)) {
      both("delete_view", [&](Side& side) { return text_of(side.engine().delete_view(owner, name)); });
    } else {
      const SavedView view{.name = name, .query = fmt::format("state=failed&n={}", below(9))};
      both("save_view", [&](Side& side) {
        return text_of(side.engine().save_view(owner, view), [](const SavedView& saved) { return to_json(saved); });
      });
    }
  }

  void explain() {
    if (known_.empty() || one_in(3)) return keep_view();
    const TaskId id = any_of(known_);
    both("explain", [&](Side& side) {
      return text_of(side.engine().explain(id), [](const Explanation& explanation) { return text_of(explanation); });
    });
    both("stuck", [&](Side& side) {
      return text_of(side.engine().stuck(std::nullopt), [](const StuckReport& report) { return to_json(report); });
    });
  }

  SeededRng rng_;
  ManualClock clock_;
  Side first_;
  Side second_;
  std::vector<TaskId> known_;
  std::optional<Settlement> settled_;  // one that may be said again
  std::optional<std::string> lease_;   // of a conversation
  std::int64_t last_op_ = 0;
  std::vector<Lease> held_;
  std::vector<QuestionId> asked_;
  bool has_budgets_ = false;  // or had
  int number_ = 0;
  std::int64_t events_after_ = 0;
  std::optional<Difference> difference_;
};

}  // namespace

std::optional<Difference> find_difference(const OpenStore& first, const OpenStore& second, std::uint64_t seed,
                                          int operations) {
  return Driver(first, second, seed).run(operations);
}

}  // namespace drover::test
