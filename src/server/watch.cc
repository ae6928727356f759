#include "server/watch.h"

#include "base/json_reader.h"
#include "base/try.h"
#include "core/spec_check.h"

namespace drover::server {

Status WatchFilter::add_names(std::string_view list) {
  for (;;) {
    const std::size_t comma = list.find(',');
    auto name = parse_event_name(list.substr(0, comma));
    if (!name) return at_field("name", std::move(name.error()));
    names.push_back(*std::move(name));
    if (comma == std::string_view::npos) return {};
    list.remove_prefix(comma + 1);
  }
}

Status read_json(std::string_view json, WatchFilter& out) {
  json::Reader in(json);
  std::vector<std::string> names;
  in.get("type", out.type).get("queue", out.queue).get("owner", out.owner).get("task", out.task);
  in.get("name", names).get("tally", out.tally);
  TRY(in.finish_strictly());
  for (const std::string& name : names) TRY(out.add_names(name));
  return {};
}

}  // namespace drover::server
