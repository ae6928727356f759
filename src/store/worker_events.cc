#include "store/worker_events.h"

#include "base/json.h"

namespace drover {

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
