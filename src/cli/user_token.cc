#include "cli/user_token.h"

#include "base/clock.h"
#include "base/sha256.h"
#include "base/try.h"
#include "cli/files.h"
#include "cli/private_file.h"
#include "cli/who.h"

namespace drover::cli {
namespace {

constexpr std::size_t kNameChars = 16;

// The id of the token that was kept, if it is still good.
Result<std::optional<std::string>> good_id(TokenBook& tokens, std::string_view text) {
  const auto document = TRY(tokens.read());
  const auto principal = find_principal(document, text.substr(0, text.find('\n')), system_clock().wall());
  if (!principal || principal->role != Role::kAdmin) return std::nullopt;
  return principal->token_id;
}

}  // namespace

Result<UserToken> keep_user_token(TokenBook& tokens, const std::string& store_url, const Environment& environment) {
  const auto folder = TRY(state_folder(environment));
  std::filesystem::path path = folder / "tokens" / sha256_hex(store_url).substr(0, kNameChars);
  const auto file = TRY(PrivateFile::open_for_writing(path));
  const auto kept = TRY(file.read());
  auto id = TRY(good_id(tokens, kept));
  if (id) return UserToken{.file = std::move(path), .id = *std::move(id)};
  const auto created = TRY(tokens.create({.role = Role::kAdmin, .note = "made by drover for its user", .by = who()}));
  TRY(file.write(created.text + "\n"));
  return UserToken{.file = std::move(path), .id = created.info.id};
}

}  // namespace drover::cli
