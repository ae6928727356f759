// Administration: what is done to a whole store, beside the verbs of TaskQueue that are about tasks. As a TaskQueue, it
// is the store that is here (engine/local_administration.h), a server's as a caller may use it
// (server/guarded_administration.h), or a client of a server (remote/remote_administration.h).
//
// Safe to call from any thread.
#pragma once

#include <string>
#include <vector>

#include "core/access_token.h"
#include "core/epoch.h"
#include "drover/error.h"

namespace drover {

class Administration {
 public:
  virtual ~Administration() = default;

  // kInvalidArgument: what was asked for makes no sense. kLimitExceeded: there are as many as may be active.
  [[nodiscard]] virtual Result<CreatedToken> create_token(const NewToken& order) = 0;
  // Newest first, those that were revoked or have expired too.
  [[nodiscard]] virtual Result<std::vector<TokenInfo>> tokens() = 0;
  // One that was revoked before stays as it is. kNotFound: there is none with that id.
  [[nodiscard]] virtual Result<TokenInfo> revoke_token(const std::string& id, const std::string& by) = 0;

  // Whether the store is still where it has been: docs/internals/store-epochs.md.
  [[nodiscard]] virtual Result<StoreState> store_state() = 0;
  // Begins an epoch in which what was lost is accepted. The state afterwards, with the loss as it was before.
  [[nodiscard]] virtual Result<StoreState> accept_regression() = 0;
};

}  // namespace drover
