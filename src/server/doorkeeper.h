// Whom the credentials of a caller stand for.
#pragma once

#include <string_view>

#include "engine/token_document.h"

namespace drover::server {

// Called from many threads; may read the store.
class Doorkeeper {
 public:
  virtual ~Doorkeeper() = default;
  // The text of a token, or that of both halves of a sign-in (signin_text). kUnauthorised: it is not valid.
  [[nodiscard]] virtual Result<Principal> principal(std::string_view credentials) = 0;
  // Somebody's credentials have ended: what was read before must not let them in. Never waits.
  virtual void look_again() {}
};

}  // namespace drover::server
