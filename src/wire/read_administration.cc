// What an administrator looks at.
#include "base/json_reader.h"
#include "wire/read.h"

namespace drover {

Status read_json(std::string_view json, Epoch& out) {
  json::Reader in(json);
  std::string cause;
  in.need("number", out.number).need("id", out.id).need("after", out.after).need("cause", cause);
  if (const auto known = parse_epoch_cause(cause)) {
    out.cause = *known;
  } else {
    in.refuse("cause: there is no such one");
  }
  return in.finish();
}

Status read_json(std::string_view json, Loss& out) {
  json::Reader in(json);
  in.need("from", out.first).need("to", out.last);
  return in.finish();
}

Status read_json(std::string_view json, StoreState& out) {
  json::Reader in(json);
  in.need("last_event", out.extent.seq).get("lost", out.loss).need("epochs", out.extent.epochs);
  in.need("missing", out.missing);
  return in.finish();
}

Status read_json(std::string_view json, FleetLook& out) {
  json::Reader in(json);
  in.need("now", out.now).need("workers", out.workers).need("alerts", out.alerts);
  return in.finish();
}

Status read_json(std::string_view json, DumpIds& out) {
  json::Reader in(json);
  in.need("ids", out.ids).get("cursor", out.cursor);
  return in.finish();
}

Status read_json(std::string_view json, DumpCounts& out) {
  json::Reader in(json);
  in.need("gates", out.gates).need("tasks", out.tasks).need("events", out.events);
  return in.finish();
}

Status read_json(std::string_view json, Introduction& out) {
  json::Reader in(json);
  in.need("version", out.version).need("now", out.now).need("token_id", out.token_id).need("role", out.role);
  in.need("owner", out.owner).need("queues", out.queues);
  return in.finish();
}

}  // namespace drover
