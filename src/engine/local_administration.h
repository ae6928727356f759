// The administration of a store that is here.
#pragma once

#include "core/administration.h"
#include "engine/tokens.h"

namespace drover {

class LocalAdministration final : public Administration {
 public:
  // Both outlive it. `rng` makes the secrets: system_rng() but for tests.
  LocalAdministration(Store& store, Rng& rng) : store_(store), tokens_(store, rng) {}

  Result<CreatedToken> create_token(const NewToken& order) override { return tokens_.create(order); }
  Result<std::vector<TokenInfo>> tokens() override { return tokens_.list(); }
  Result<TokenInfo> revoke_token(const std::string& id, const std::string& by) override {
    return tokens_.revoke(id, by);
  }
  Result<StoreState> store_state() override { return store_.state(); }
  Result<StoreState> accept_regression() override { return store_.accept_regression(); }

 private:
  Store& store_;
  TokenBook tokens_;
};

}  // namespace drover
