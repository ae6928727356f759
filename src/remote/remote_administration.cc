#include "remote/remote_administration.h"

#include <ranges>

#include "base/try.h"
#include "net/url.h"
#include "remote/checks.h"
#include "remote/server_calls.h"

namespace drover {
namespace {

using remote::Body;
using remote::Query;
using remote::with_query;

constexpr int kDumpTriesMax = 5;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;
// Writing much, or looking at everything, takes its time.
constexpr Millis kLongTimeout{600'000};

struct QuotedId {
  const TaskId& id;
};
std::string to_json(const QuotedId& quoted) {
  return json::quote(quoted.id.to_string());
}

class RemoteAdministration final : public Administration {
 public:
  explicit RemoteAdministration(std::unique_ptr<remote::ServerCalls> calls) : calls_(std::move(calls)) {}

  Result<CreatedToken> create_token(const NewToken& order) override {
    TRY(check_texts({order.owner.value_or(""), order.note, order.by}));
    return calls_->ask<CreatedToken>("POST", "/v1/tokens", to_json(order));
  }

  Result<std::vector<TokenInfo>> tokens() override {
    return calls_->ask_list<TokenInfo>("tokens", "GET", "/v1/tokens");
  }

  Result<TokenInfo> revoke_token(const std::string& id, const std::string& by) override {
    return calls_->ask<TokenInfo>("DELETE", with_query("/v1/tokens/" + percent_encode(id), {{"by", by}}));
  }

  Result<SigninCode> create_signin_code(const std::string& /*token_id*/) override {
    return calls_->ask<SigninCode>("POST", "/v1/signin-codes");
  }

  Result<StoreState> store_state() override { return calls_->ask<StoreState>("GET", "/v1/store"); }

  Result<StoreState> accept_regression() override {
    return calls_->ask<StoreState>("POST", "/v1/store/accept-regression");
  }

  Result<Time> now() override {
    const auto introduction = TRY(calls_->ask<Introduction>("GET", "/v1/server"));
    return introduction.now;
  }

  Result<FleetLook> look_at_fleet() override { return calls_->ask<FleetLook>("GET", "/v1/fleet"); }

  Result<DumpPart> dump_head() override { return ask_part("GET", "/v1/dump/head", {}); }

  Result<DumpIds> dump_ids(const std::optional<std::string>& cursor) override {
    return calls_->ask<DumpIds>("GET", with_query("/v1/dump/ids", cursor ? Query{{"cursor", *cursor}} : Query{}));
  }

  // A task may be larger than an answer: then it comes in pieces, and from the start if it changes meanwhile.
  Result<DumpPart> dump_tasks(std::span<const TaskId> ids) override {
    for (int tries = 1;; ++tries) {
      auto part = gather_tasks(ids);
      if (part || part.error().code != ErrorCode::kVersionMismatch || tries == kDumpTriesMax) return part;
    }
  }

  Result<DumpPart> dump_events(std::int64_t after) override {
    return ask_part("GET", with_query("/v1/dump/events", {{"after", std::to_string(after)}}), {});
  }

  Result<DumpConversations> dump_conversations(const std::optional<std::string>& cursor) override {
    const Query query = cursor ? Query{{"cursor", *cursor}} : Query{};
    auto answer = TRY(calls_->exchange("GET", with_query("/v1/dump/conversations", query), {}, kLongTimeout, {}));
    DumpConversations part{.text = std::move(answer.body)};
    if (const std::string_view next = answer.header("drover-cursor"); !next.empty()) part.cursor = next;
    return part;
  }

  Result<std::string> begin_import() override {
    return calls_->ask_value<std::string>("id", "POST", "/v1/dump/imports");
  }

  Result<DumpCounts> import_piece(const std::string& id, std::int64_t offset, std::string_view bytes) override {
    DumpCounts counts;
    while (true) {
      const std::string_view piece = bytes.substr(0, kPieceBytes);
      TRY(calls_->ask_into(counts, "PUT", with_query(import_path(id), {{"offset", std::to_string(offset)}}),
                           std::string(piece), kLongTimeout, {{"content-type", "application/x-ndjson"}}));
      bytes.remove_prefix(piece.size());
      offset += static_cast<std::int64_t>(piece.size());
      if (bytes.empty()) return counts;
    }
  }

  Result<DumpCounts> finish_import(const std::string& id) override {
    DumpCounts counts;
    const Status done = calls_->ask_into(counts, "POST", import_path(id) + "/finish", {}, kLongTimeout, {});
    return done ? Result<DumpCounts>(counts) : std::unexpected(done.error());
  }

 private:
  static std::string import_path(const std::string& id) { return "/v1/dump/imports/" + percent_encode(id); }

  Result<DumpPart> gather_tasks(std::span<const TaskId> ids) {
    DumpPart part;
    std::string version;
    for (;;) {
      Body body;
      body.list("ids", ids | std::views::transform([](const TaskId& id) { return QuotedId{id}; }));
      body.number("offset", static_cast<std::int64_t>(part.text.size()));
      if (!version.empty()) body.text("version", version);
      auto answer = TRY(calls_->exchange("POST", "/v1/dump/tasks", body.take(), kLongTimeout, {}));
      const Status read = read_headers(answer, part);
      if (!read) return remote::unreadable(read.error());
      version = answer.header("drover-version");
      part.text += answer.body;
      if (version.empty()) return part;
    }
  }

  Result<DumpPart> ask_part(const std::string& method, std::string target, std::string body) {
    auto answer = TRY(calls_->exchange(method, std::move(target), std::move(body), kLongTimeout, {}));
    DumpPart part{.text = std::move(answer.body)};
    if (const Status read = read_headers(answer, part); !read) return remote::unreadable(read.error());
    return part;
  }

  static Status read_headers(const HttpResponse& answer, DumpPart& part) {
    TRY(json::read_json(answer.header("drover-count"), part.count));
    return json::read_json(answer.header("drover-next"), part.next);
  }

  const std::unique_ptr<remote::ServerCalls> calls_;
};

}  // namespace

Result<std::unique_ptr<Administration>> open_remote_administration(RemoteOptions options) {
  auto calls = TRY(remote::ServerCalls::open(std::move(options)));
  return std::make_unique<RemoteAdministration>(std::move(calls));
}

}  // namespace drover
