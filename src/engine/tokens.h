// TokenBook: making, listing and revoking the tokens by which a server knows its callers.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/rng.h"
#include "engine/token_document.h"
#include "store/store.h"

namespace drover {

inline constexpr std::size_t kTokensMax = 1'000;  // that are active; and as many that are not
inline constexpr std::size_t kTokenQueuesMax = 32;
inline constexpr std::size_t kTokenNoteBytesMax = 256;
// How long a token stays in the list after it was revoked or has expired.
inline constexpr Millis kEndedTokensKept = std::chrono::days(30);

// Safe from any thread.
class TokenBook {
 public:
  // `rng` makes the secrets: system_rng() but for tests.
  TokenBook(Store& store, Rng& rng) : store_(store), rng_(rng) {}

  // kInvalidArgument: what was asked for makes no sense. kLimitExceeded: kTokensMax are active.
  [[nodiscard]] Result<CreatedToken> create(const NewToken& order);
  // Newest first, those that were revoked or have expired too.
  [[nodiscard]] Result<std::vector<TokenInfo>> list();
  // One that was revoked before stays as it is. kNotFound: there is none with that id.
  [[nodiscard]] Result<TokenInfo> revoke(const std::string& id, const std::string& by);
  // The clock that decides.
  [[nodiscard]] Result<Time> now() { return store_.now(); }
  // For find_principal.
  [[nodiscard]] Result<TokenDocument> read();

  // Remembers that a token, and the sign-in that stands for it if there is one, was used; writes nothing.
  void note_use(const Principal& who, Time at);
  // Writes the uses that were noted, of each token at most one a minute. For a caller that has a minute's patience.
  [[nodiscard]] Status write_uses();

  // What a change of the document tells; none: there is nothing to write.
  using Told = std::optional<std::vector<EventDraft>>;
  // Called again if somebody else changed the document meanwhile.
  using Change = std::function<Result<Told>(TokenDocument& document, Time now)>;
  // Changes the document under compare-and-set. What has ended long ago goes with it.
  [[nodiscard]] Status update(const Change& change);

 private:
  // The latest of each, by id.
  struct Uses {
    std::map<std::string, Time> tokens = {};
    std::map<std::string, Time> signins = {};
  };

  [[nodiscard]] Uses take_uses();
  // They are not lost: the next call tries again.
  void put_back(const Uses& uses);

  Store& store_;
  Rng& rng_;
  std::mutex mutex_;  // guards uses_
  Uses uses_;         // that are not written yet
};

}  // namespace drover
