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

Result<bool> is_good(TokenBook& tokens, std::string_view text) {
  const auto document = TRY(tokens.read());
  const auto principal = find_principal(document, text.substr(0, text.find('\n')), system_clock().wall());
  return principal && principal->role == Role::kAdmin;
}

}  // namespace

Result<std::filesystem::path> keep_user_token(TokenBook& tokens, const std::string& store_url,
                                              const Environment& environment) {
  const auto folder = TRY(state_folder(environment));
  std::filesystem::path path = folder / "tokens" / sha256_hex(store_url).substr(0, kNameChars);
  const auto file = TRY(PrivateFile::open_for_writing(path));
  const auto kept = TRY(file.read());
  const auto good = TRY(is_good(tokens, kept));
  if (good) return path;
  const auto created =
      TRY(tokens.create({.role = Role::kAdmin, .note = "made by drover up for its user", .by = who()}));
  TRY(file.write(created.text + "\n"));
  return path;
}

}  // namespace drover::cli
