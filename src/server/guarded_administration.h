// An Administration as one caller may use it: what the role does not allow is kForbidden.
#pragma once

#include "core/administration.h"
#include "server/rights.h"

namespace drover::server {

class GuardedAdministration final : public Administration {
 public:
  // Both outlive it.
  GuardedAdministration(Administration& administration, const Principal& principal)
      : administration_(administration), principal_(principal) {}

  Result<CreatedToken> create_token(const NewToken& order) override {
    if (const Status allowed = need(principal_, Right::kAdminister); !allowed) return std::unexpected(allowed.error());
    return administration_.create_token(order);
  }
  Result<std::vector<TokenInfo>> tokens() override {
    if (const Status allowed = need(principal_, Right::kAdminister); !allowed) return std::unexpected(allowed.error());
    return administration_.tokens();
  }
  Result<TokenInfo> revoke_token(const std::string& id, const std::string& by) override {
    if (const Status allowed = need(principal_, Right::kAdminister); !allowed) return std::unexpected(allowed.error());
    return administration_.revoke_token(id, by);
  }
  Result<StoreState> store_state() override {
    if (const Status allowed = need(principal_, Right::kOperate); !allowed) return std::unexpected(allowed.error());
    return administration_.store_state();
  }
  Result<StoreState> accept_regression() override {
    if (const Status allowed = need(principal_, Right::kAdminister); !allowed) return std::unexpected(allowed.error());
    return administration_.accept_regression();
  }

 private:
  Administration& administration_;
  const Principal& principal_;
};

}  // namespace drover::server
