#include "server/metrics.h"

#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>

#include "base/clock.h"
#include "base/try.h"
#include "core/gate_name.h"
#include "core/provider_ramp.h"
#include "core/session_record.h"
#include "server/api.h"
#include "server/event_counters.h"

namespace drover::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

MetricFamily gauges(std::string name, std::string help) {
  return {.name = std::move(name), .help = std::move(help), .type = MetricType::Gauge, .metric = {}};
}

void add(MetricFamily& family, Labels labels, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  if (family.type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family.metric.push_back(std::move(metric));
}

MetricFamily gauge(std::string name, std::string help, double value) {
  MetricFamily family = gauges(std::move(name), std::move(help));
  add(family, {}, value);
  return family;
}

double seconds_of(Millis time) {
  return static_cast<double>(time.count()) / 1000.0;
}

using Families = std::vector<MetricFamily>;

void add_queues(const Stats& stats, QueueLabels& labels, Families& families) {
  struct OfQueue {
    std::array<std::int64_t, kTaskStateCount> tasks{};
    double oldest_s = 0;
    int workers = 0;
  };
  std::map<std::string, OfQueue> queues;
  for (const QueueStats& queue : stats.queues) {
    OfQueue& sum = queues[labels.of(queue.name)];
    for (std::size_t i = 0; i < kTaskStateCount; ++i) sum.tasks[i] += queue.tasks[i];
    if (queue.waiting_since) sum.oldest_s = std::max(sum.oldest_s, seconds_of(stats.at - *queue.waiting_since));
    sum.workers += queue.workers;
  }
  MetricFamily tasks = gauges("drover_tasks", "Tasks by queue and state.");
  MetricFamily oldest =
      gauges("drover_oldest_waiting_seconds", "How long the first in line of a queue has been ready.");
  MetricFamily workers = gauges("drover_queue_workers", "Workers that take work from a queue.");
  for (const auto& [name, queue] : queues) {
    for (std::size_t i = 0; i < kTaskStateCount; ++i) {
      const std::string state(name_of(static_cast<TaskState>(i)));
      add(tasks, {{"queue", name}, {"state", state}}, static_cast<double>(queue.tasks[i]));
    }
    add(oldest, {{"queue", name}}, queue.oldest_s);
    add(workers, {{"queue", name}}, queue.workers);
  }
  families.push_back(std::move(tasks));
  families.push_back(std::move(oldest));
  families.push_back(std::move(workers));
}

void add_workers(const Stats& stats, Families& families) {
  MetricFamily workers = gauges("drover_workers", "Registered workers by what they do.");
  add(workers, {{"state", "working"}}, stats.workers.working);
  add(workers, {{"state", "draining"}}, stats.workers.draining);
  add(workers, {{"state", "silent"}}, stats.workers.silent);
  families.push_back(std::move(workers));
  families.push_back(gauge("drover_worker_slots", "How many tasks the workers can run at once.", stats.workers.slots));
  families.push_back(gauge("drover_workspace_bytes", "What the workspaces of tasks take on the disks of all workers.",
                           static_cast<double>(stats.workers.workspace_bytes)));
}

void add_alerts(const Stats& stats, Families& families) {
  std::map<std::pair<AlertKind, Severity>, int> counts;
  for (const Alert& alert : stats.alerts) ++counts[{alert.kind, alert.severity}];
  MetricFamily alerts = gauges("drover_alerts", "Active alerts, as drover alerts lists them.");
  for (int kind = 0; kind < kAlertKindCount; ++kind) {
    for (const Severity severity : {Severity::kWarning, Severity::kCritical}) {
      const auto key = std::pair(static_cast<AlertKind>(kind), severity);
      add(alerts, {{"kind", std::string(name_of(key.first))}, {"severity", std::string(name_of(severity))}},
          counts[key]);
    }
  }
  families.push_back(std::move(alerts));
}

// By the kind of a gate ("queue" of "queue:eng"): its name may be an owner's.
void add_gates(const Stats& stats, const std::vector<GateStatus>& gates, Families& families) {
  std::map<std::string_view, int> closed;
  for (const GateKindInfo& kind : kGateKinds) {
    if (kind.section != "sessions") closed[kind.word] = 0;
  }
  for (const GateStatus& gate : gates) {
    const auto name = parse_gate_name(gate.name);
    if (name && gate.closed_until && *gate.closed_until > stats.at) ++closed[info_of(name->kind).word];
  }
  MetricFamily family = gauges("drover_gates_closed", "Gates that let nothing through, by their kind.");
  for (const auto& [kind, count] : closed) add(family, {{"kind", std::string(kind)}}, count);
  families.push_back(std::move(family));
  families.push_back(gauge("drover_permits_in_use", "Permits in use of all gates with a limit.",
                           static_cast<double>(stats.permits.in_use)));
  families.push_back(
      gauge("drover_permits", "Permits of all gates with a limit.", static_cast<double>(stats.permits.permits)));
}

// By state; of more sessions than are looked at the numbers are too low.
Status add_sessions(TaskQueue& queue, Families& families) {
  constexpr int kPages = 100;
  std::array<std::int64_t, kSessionStateCount> counts{};
  SessionQuery query{.limit = kPageMax};
  for (int page_number = 0; page_number < kPages; ++page_number) {
    const SessionPage page = TRY(queue.sessions(query));
    for (const SessionInfo& session : page.sessions) ++counts[std::to_underlying(session.state)];
    query.cursor = page.cursor;
    if (!query.cursor) break;
  }
  MetricFamily sessions = gauges("drover_sessions", "Sessions, by state.");
  for (int i = 0; i < kSessionStateCount; ++i) {
    const auto state = static_cast<SessionState>(i);
    add(sessions, {{"state", std::string(name_of(state))}}, static_cast<double>(counts[static_cast<std::size_t>(i)]));
  }
  families.push_back(std::move(sessions));
  return {};
}

void add_questions(const Stats& stats, Families& families) {
  MetricFamily questions = gauges("drover_questions", "Questions that are kept, by state.");
  for (int i = 0; i < kQuestionStateCount; ++i) {
    const auto state = static_cast<QuestionState>(i);
    add(questions, {{"state", std::string(name_of(state))}}, static_cast<double>(stats.questions.in(state)));
  }
  families.push_back(std::move(questions));
  families.push_back(gauge("drover_answer_waits", "Tasks that have given way until somebody answers.",
                           static_cast<double>(stats.questions.tasks_waiting)));
  const Millis oldest = stats.questions.oldest_open_at ? stats.at - *stats.questions.oldest_open_at : Millis{0};
  families.push_back(gauge("drover_oldest_question_seconds", "How long the oldest open question has been open.",
                           seconds_of(std::max(oldest, Millis{0}))));
}

// How many runs each provider that is limited lets go on at once: none while its gate is closed.
void add_providers(const std::vector<GateStatus>& gates, Families& families) {
  MetricFamily family =
      gauges("drover_provider_permits", "Runs that a provider lets go on at once; 0 while it is closed.");
  for (const GateStatus& gate : gates) {
    if (!subject_of(gate.name, GateKind::kProvider)) continue;
    const ProviderState provider = provider_state(gate);
    const bool is_closed = provider.state == ProviderState::State::kClosed;
    if (is_closed || provider.permits) {
      add(family, {{"provider", provider.name}}, is_closed ? 0 : *provider.permits);
    }
  }
  families.push_back(std::move(family));
}

// Of each kind of gate and unit the worst: names may be those of owners.
Status add_budgets(TaskQueue& queue, Families& families) {
  std::map<std::pair<std::string_view, std::string_view>, double> worst;
  for (const BudgetStatus& budget : TRY(queue.budgets())) {
    const auto name = parse_gate_name(budget.gate);
    if (!name || budget.limit() <= 0) continue;
    double& ratio = worst[{info_of(name->kind).word, name_of(budget.budget.unit)}];
    ratio = std::max(ratio, static_cast<double>(budget.spent) / static_cast<double>(budget.limit()));
  }
  MetricFamily family = gauges("drover_budget_used_ratio", "What is spent of the budget that is used up the most.");
  for (const auto& [of, ratio] : worst) {
    add(family, {{"kind", std::string(of.first)}, {"unit", std::string(of.second)}}, ratio);
  }
  families.push_back(std::move(family));
  return {};
}

// From the ledger: the same whichever server is asked, and when one restarts. Gauges, because a day that is too old to
// be kept and an agent that corrects itself take away from the sums.
Status add_agents(TaskQueue& queue, Families& families) {
  MetricFamily runs = gauges("drover_agent_runs", "Runs of agents that have ended, by how.");
  MetricFamily tokens = gauges("drover_agent_tokens", "Tokens that agents used.");
  MetricFamily costs = gauges("drover_agent_cost_usd", "What agents cost, by who says so.");
  for (const UsageRow& row : TRY(queue.usage({.by = {UsageDimension::kRunner, UsageDimension::kClass}}))) {
    add(runs, {{"runner", row.names.at(UsageDimension::kRunner)}, {"class", row.names.at(UsageDimension::kClass)}},
        static_cast<double>(row.amounts.runs));
  }
  for (const UsageRow& row : TRY(queue.usage({.by = {UsageDimension::kRunner}}))) {
    const std::string& runner = row.names.at(UsageDimension::kRunner);
    const TokenCounts& used = row.amounts.tokens;
    for (const auto& [kind, count] : {std::pair{"input", used.input},
                                      {"cached_input", used.cached_input},
                                      {"cache_write", used.cache_write},
                                      {"output", used.output},
                                      {"reasoning", used.reasoning}}) {
      add(tokens, {{"runner", runner}, {"kind", kind}}, static_cast<double>(count));
    }
    constexpr double kDollar = 1e6;
    add(costs, {{"runner", runner}, {"basis", "reported"}}, static_cast<double>(row.amounts.reported_cost) / kDollar);
    add(costs, {{"runner", runner}, {"basis", "table"}}, static_cast<double>(row.amounts.table_cost) / kDollar);
  }
  for (MetricFamily* family : {&runs, &tokens, &costs}) families.push_back(std::move(*family));
  return {};
}

void add_process(Families& families) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  MetricFamily cpu{.name = "process_cpu_seconds_total",
                   .help = "Processor time of the server, in user and kernel.",
                   .type = MetricType::Counter,
                   .metric = {}};
  add(cpu, {}, seconds(usage.ru_utime) + seconds(usage.ru_stime));
  families.push_back(std::move(cpu));
  std::int64_t size = 0;
  std::int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  families.push_back(gauge("process_resident_memory_bytes", "Resident memory of the server.",
                           static_cast<double>(resident * ::sysconf(_SC_PAGESIZE))));
}

}  // namespace

struct Metrics::Impl {
  prometheus::Registry registry;
  QueueLabels queues;
  std::mutex mutex;  // one scrape at a time
  EventCounters events{registry, queues};
  bool begun = false;

  prometheus::Family<prometheus::Counter>& requests = prometheus::BuildCounter()
                                                          .Name("drover_http_requests_total")
                                                          .Help("Requests that were answered, by route and status.")
                                                          .Register(registry);
  prometheus::Family<prometheus::Histogram>& request_times =
      prometheus::BuildHistogram()
          .Name("drover_http_request_duration_seconds")
          .Help("From a whole request to its answer; of a long poll with its wait.")
          .Register(registry);
  // Of the loop's thread.
  std::map<std::pair<const Route*, int>, prometheus::Counter*> counter_of;
  std::map<const Route*, prometheus::Histogram*> histogram_of;

  std::atomic<std::size_t> connections = 0;
  std::atomic<std::size_t> waiting_calls = 0;
  std::atomic<std::size_t> running_calls = 0;
  std::atomic<std::size_t> watchers = 0;
  std::atomic<std::size_t> held_bytes = 0;
  std::atomic<std::uint64_t> audit_written = 0;
  std::atomic<std::uint64_t> audit_failures = 0;
  std::atomic<std::uint64_t> audit_dropped = 0;

  void add_audit(Families& families) const {
    MetricFamily records{.name = "drover_audit_records_total",
                         .help = "Records of the audit log, by what became of them. Failures are repeated.",
                         .type = MetricType::Counter,
                         .metric = {}};
    add(records, {{"result", "written"}}, static_cast<double>(audit_written));
    add(records, {{"result", "failed"}}, static_cast<double>(audit_failures));
    add(records, {{"result", "dropped"}}, static_cast<double>(audit_dropped));
    families.push_back(std::move(records));
  }

  void add_load(Families& families) const {
    families.push_back(gauge("drover_http_connections", "Open connections.", static_cast<double>(connections)));
    families.push_back(
        gauge("drover_http_waiting_calls", "Long polls that wait for something.", static_cast<double>(waiting_calls)));
    families.push_back(gauge("drover_http_running_calls", "Calls that have a thread, or wait for one.",
                             static_cast<double>(running_calls)));
    families.push_back(
        gauge("drover_http_watchers", "WebSockets and streams of live events.", static_cast<double>(watchers)));
    families.push_back(gauge("drover_http_held_bytes", "Bytes of requests and answers that are held for clients.",
                             static_cast<double>(held_bytes)));
  }

  // False if the store does not answer.
  bool add_store(TaskQueue& queue, const Result<std::vector<GateStatus>>& gates, Families& families) {
    if (!gates) return false;
    const auto stats = queue.stats();
    if (!stats) return false;
    if (!begun) {  // the store was away when the server started
      const auto last = queue.last_event_seq();
      if (!last) return false;
      events.begin_after(*last);
      begun = true;
    }
    if (!events.catch_up(queue)) return false;
    add_queues(*stats, queues, families);
    add_workers(*stats, families);
    add_questions(*stats, families);
    add_alerts(*stats, families);
    add_gates(*stats, *gates, families);
    add_providers(*gates, families);
    return add_sessions(queue, families) && add_budgets(queue, families) && add_agents(queue, families);
  }
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

void Metrics::begin_after(std::int64_t seq) {
  const std::scoped_lock lock(impl_->mutex);
  impl_->events.begin_after(seq);
  impl_->begun = true;
}

void Metrics::count_request(const Route* route, int status, Millis took) {
  prometheus::Counter*& counter = impl_->counter_of[{route, status}];
  const std::string pattern(route != nullptr ? route->pattern : "none");
  const std::string method(route != nullptr ? route->method : "");
  if (counter == nullptr) {
    counter = &impl_->requests.Add({{"method", method}, {"route", pattern}, {"status", std::to_string(status)}});
  }
  counter->Increment();
  prometheus::Histogram*& histogram = impl_->histogram_of[route];
  if (histogram == nullptr) {
    static const prometheus::Histogram::BucketBoundaries kBounds{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30};
    histogram = &impl_->request_times.Add({{"method", method}, {"route", pattern}}, kBounds);
  }
  histogram->Observe(seconds_of(took));
}

void Metrics::set_load(const Load& load) {
  impl_->connections.store(load.connections, std::memory_order_relaxed);
  impl_->waiting_calls.store(load.waiting_calls, std::memory_order_relaxed);
  impl_->running_calls.store(load.running_calls, std::memory_order_relaxed);
  impl_->watchers.store(load.watchers, std::memory_order_relaxed);
  impl_->held_bytes.store(load.held_bytes, std::memory_order_relaxed);
}

void Metrics::set_audit(const AuditTotals& totals) {
  impl_->audit_written.store(totals.written, std::memory_order_relaxed);
  impl_->audit_failures.store(totals.failures, std::memory_order_relaxed);
  impl_->audit_dropped.store(totals.dropped, std::memory_order_relaxed);
}

Result<std::string> Metrics::scrape(TaskQueue& queue) {
  // Only whoever may see every gate sees every task and event, too.
  const auto gates = queue.gates();
  if (!gates && gates.error().code == ErrorCode::kForbidden) return std::unexpected(gates.error());
  const std::scoped_lock lock(impl_->mutex);
  Families families;
  const bool up = impl_->add_store(queue, gates, families);
  families.push_back(gauge("drover_store_up", "Whether the store answers.", up ? 1 : 0));
  families.push_back(gauge("drover_events_seq", "The last event that the counters of events have counted.",
                           static_cast<double>(impl_->events.seq())));
  impl_->add_load(families);
  impl_->add_audit(families);
  add_process(families);
  Families counted = impl_->registry.Collect();
  std::ranges::move(counted, std::back_inserter(families));
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return std::move(text).str();
}

}  // namespace drover::server
