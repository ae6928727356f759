// A whole store as lines of JSON, out and in.
#include <array>

#include "base/sha256.h"
#include "server/api.h"

namespace drover::server {
namespace {

constexpr std::string_view kLines = "application/x-ndjson";
// Of an answer. A client takes no larger one than kHttpBodyBytesMax.
constexpr std::size_t kPieceBytes = std::size_t{4} << 20U;
constexpr std::int64_t kOffsetMax = std::int64_t{1} << 52;

HttpResponse lines(const Result<DumpPart>& part) {
  if (!part) return problem(part.error());
  HttpResponse response{.content_type = std::string(kLines), .body = part->text};
  response.headers.emplace_back("drover-count", std::to_string(part->count));
  response.headers.emplace_back("drover-next", std::to_string(part->next));
  return response;
}

Answer head(const Call& call) {
  return lines(call.administration.dump_head());
}

Answer ids(const Call& call) {
  if (const Status known = call.only({"cursor"}); !known) return problem(known.error());
  return respond(call.administration.dump_ids(call.parameter("cursor")));
}

// {"ids", "offset", "version"}: the lines of tasks from that byte on. While there are more, the answer has the version
// of the whole, which the next call names: what has changed meanwhile must not be put together.
Answer tasks(const Call& call) {
  std::vector<TaskId> wanted;
  std::int64_t offset = 0;
  std::optional<std::string> version;
  json::Reader body(body_of(call));
  body.need("ids", wanted).get("offset", offset).get("version", version);
  if (offset < 0) body.refuse("offset: expected a number of bytes");
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  auto part = call.administration.dump_tasks(wanted);
  if (!part) return problem(part.error());
  const bool is_whole = offset == 0 && part->text.size() <= kPieceBytes;
  const std::string now_version = is_whole ? "" : sha256_hex(part->text);
  if (offset > 0 && version != now_version) {
    return problem(Error{ErrorCode::kVersionMismatch, "a task has changed while it was read; begin again", {}});
  }
  part->text = part->text.substr(std::min(part->text.size(), static_cast<std::size_t>(offset)), kPieceBytes);
  HttpResponse response = lines(part);
  if (part->text.size() == kPieceBytes) response.headers.emplace_back("drover-version", now_version);
  return response;
}

Answer events(const Call& call) {
  if (const Status known = call.only({"after"}); !known) return problem(known.error());
  const auto after = call.number("after", 0, kOffsetMax);
  if (!after) return problem(after.error());
  return lines(call.administration.dump_events(*after));
}

Answer conversations(const Call& call) {
  if (const Status known = call.only({"cursor"}); !known) return problem(known.error());
  const auto part = call.administration.dump_conversations(call.parameter("cursor"));
  if (!part) return problem(part.error());
  HttpResponse response{.content_type = std::string(kLines), .body = part->text};
  if (part->cursor) response.headers.emplace_back("drover-cursor", *part->cursor);
  return response;
}

Answer begin_import(const Call& call) {
  const auto id = call.administration.begin_import();
  if (!id) return problem(id.error());
  return json_response(fmt::format(R"({{"id":{}}})", json::quote(*id)), kCreated);
}

Answer import_piece(const Call& call) {
  if (const Status known = call.only({"offset"}); !known) return problem(known.error());
  const auto offset = call.number("offset", 0, kOffsetMax);
  if (!offset) return problem(offset.error());
  return respond(call.administration.import_piece(call.captures[0], *offset, call.request.body));
}

Answer finish_import(const Call& call) {
  return respond(call.administration.finish_import(call.captures[0]));
}

constexpr std::array kDumpRoutes{
    Route{"GET", "/v1/dump/head", head, Access::kToken, AnsweredBy::kFew},
    Route{"GET", "/v1/dump/ids", ids, Access::kToken, AnsweredBy::kFew},
    Route{"POST", "/v1/dump/tasks", tasks, Access::kToken, AnsweredBy::kFew},
    Route{"GET", "/v1/dump/events", events, Access::kToken, AnsweredBy::kFew},
    Route{"GET", "/v1/dump/conversations", conversations, Access::kToken, AnsweredBy::kFew},
    Route{"POST", "/v1/dump/imports", begin_import},
    Route{"PUT", "/v1/dump/imports/{id}", import_piece},
    Route{"POST", "/v1/dump/imports/{id}/finish", finish_import},
};

}  // namespace

std::span<const Route> dump_routes() {
  return kDumpRoutes;
}

}  // namespace drover::server
