#include "store/worker_events.h"

#include "base/json.h"

namespace drover {

Time last_heard(Time noted, Millis silent_for, Time now) {
  constexpr Millis kAlike{1'000};
  const Time by_silence = now - silent_for;
  return std::chrono::abs(by_silence - noted) <= kAlike ? noted : by_silence;
}

EventDraft worker_draining(const DrainOrder& order) {
  json::Writer data;
  data.begin_object().key("worker_id").string(order.worker_id);
  data.key("why").string(order.why).key("by").string(order.by).end_object();
  return {.name = "worker.draining", .data = std::move(data).take()};
}

EventDraft worker_gone(std::string_view worker_id, std::string_view reason) {
  json::Writer data;
  data.begin_object().key("worker_id").string(worker_id).key("reason").string(reason).end_object();
  return {.name = "worker.gone", .data = std::move(data).take()};
}

}  // namespace drover
