#include "server/watch.h"

#include "base/json_reader.h"

namespace drover::server {

void WatchFilter::add_names(std::string_view list) {
  for (;;) {
    const std::size_t comma = list.find(',');
    const std::string name(list.substr(0, comma));
    names.push_back(name.contains('.') ? name : "task." + name);
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

Status read_json(std::string_view json, WatchFilter& out) {
  json::Reader in(json);
  std::vector<std::string> names;
  in.get("type", out.type).get("queue", out.queue).get("owner", out.owner).get("task", out.task);
  in.get("name", names).get("tally", out.tally);
  for (const std::string& name : names) out.add_names(name);
  return in.finish_strictly();
}

}  // namespace drover::server
