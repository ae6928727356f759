// Sign-ins of browsers, as they are told of and ordered; engine/token_document.h is what the store keeps of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/json_reader.h"
#include "core/role.h"
#include "drover/time.h"

namespace drover {

// A code is good for one sign-in within this time; a sign-in ends when it was not used for this long.
inline constexpr Millis kSigninCodeKept = std::chrono::minutes(10);
inline constexpr Millis kSigninIdleMax = std::chrono::hours(12);

// What the store keeps of a sign-in, besides its hash.
struct SigninRecord {
  std::string id = {};
  std::string token_id = {};    // the token behind it
  std::string from = {};        // the address that it was made from
  std::string user_agent = {};  // what the browser called itself
  Time created_at{};
  Time last_used_at{};  // to the minute

  bool operator==(const SigninRecord&) const = default;
};

// When it ends if it is not used again.
[[nodiscard]] constexpr Time idle_end(const SigninRecord& signin) {
  return signin.last_used_at + kSigninIdleMax;
}

// What may be told of a sign-in that has not ended.
struct SigninInfo {
  SigninRecord record;
  Role role = Role::kViewer;  // this and the owner are the token's
  std::optional<std::string> owner = {};
  Time expires_at{};
};

struct SigninCode {
  std::string code;  // the only copy
  Time expires_at{};
  std::string url;  // where to open it, with the code in the fragment; empty: nobody here knows
};

// One of both is set.
struct NewSignin {
  std::optional<std::string> code = {};
  std::optional<std::string> token = {};
  std::string from = {};
  std::string user_agent = {};
};

// Both halves are the only copy.
struct CreatedSignin {
  SigninInfo info;
  std::string cookie;
  std::string secret;  // "ID_SECRET"
};

[[nodiscard]] std::string to_json(const SigninCode& code);
[[nodiscard]] Status read_json(std::string_view json, SigninCode& out);

// The members of an object that has others, too.
void put_members(json::Writer& out, const SigninRecord& signin);
void read_members(json::Reader& in, SigninRecord& out);

}  // namespace drover
