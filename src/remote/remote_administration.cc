#include "remote/remote_administration.h"

#include "net/url.h"
#include "remote/checks.h"
#include "remote/server_calls.h"

namespace drover {
namespace {

using remote::with_query;

class RemoteAdministration final : public Administration {
 public:
  explicit RemoteAdministration(std::unique_ptr<remote::ServerCalls> calls) : calls_(std::move(calls)) {}

  Result<CreatedToken> create_token(const NewToken& order) override {
    if (const Status good = check_texts({order.owner.value_or(""), order.note, order.by}); !good) {
      return std::unexpected(good.error());
    }
    return calls_->ask<CreatedToken>("POST", "/v1/tokens", to_json(order));
  }

  Result<std::vector<TokenInfo>> tokens() override {
    return calls_->ask_list<TokenInfo>("tokens", "GET", "/v1/tokens");
  }

  Result<TokenInfo> revoke_token(const std::string& id, const std::string& by) override {
    return calls_->ask<TokenInfo>("DELETE", with_query("/v1/tokens/" + percent_encode(id), {{"by", by}}));
  }

  Result<StoreState> store_state() override { return calls_->ask<StoreState>("GET", "/v1/store"); }

  Result<StoreState> accept_regression() override {
    return calls_->ask<StoreState>("POST", "/v1/store/accept-regression");
  }

 private:
  const std::unique_ptr<remote::ServerCalls> calls_;
};

}  // namespace

Result<std::unique_ptr<Administration>> open_remote_administration(RemoteOptions options) {
  auto calls = remote::ServerCalls::open(std::move(options));
  if (!calls) return std::unexpected(calls.error());
  return std::make_unique<RemoteAdministration>(*std::move(calls));
}

}  // namespace drover
