// SigninBook: signing browsers in and out. A sign-in stands for a token, and ends with it.
#pragma once

#include <string>
#include <vector>

#include "base/rng.h"
#include "engine/tokens.h"

namespace drover {

// Of one token, and in all. Of one token's the oldest, or the one that was used least recently, makes room for another.
inline constexpr std::size_t kSigninCodesOfTokenMax = 10;
inline constexpr std::size_t kSigninCodesMax = 1'000;
inline constexpr std::size_t kSigninsOfTokenMax = 50;
inline constexpr std::size_t kSigninsMax = 2'000;
inline constexpr std::size_t kSigninAgentBytesMax = 200;

// Safe from any thread.
class SigninBook {
 public:
  // Both outlive it. `rng` makes the secrets.
  SigninBook(TokenBook& tokens, Rng& rng) : tokens_(tokens), rng_(rng) {}

  // kNotFound: there is no such token, or it is good no more.
  [[nodiscard]] Result<SigninCode> create_code(const std::string& token_id);
  // Uses the code up. kUnauthorised: the code or the token is not valid.
  [[nodiscard]] Result<CreatedSignin> sign_in(const NewSignin& order);
  // Those that have not ended, the most recently used first.
  [[nodiscard]] Result<std::vector<SigninInfo>> list();
  // kNotFound: there is none with that id, or it has ended. With a token's id: none of that token.
  [[nodiscard]] Status end(const std::string& id, const std::optional<std::string>& of_token);

 private:
  TokenBook& tokens_;
  Rng& rng_;
};

}  // namespace drover
