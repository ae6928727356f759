#include "cli/user_token.h"

#include "base/clock.h"
#include "base/sha256.h"
#include "cli/files.h"
#include "cli/private_file.h"
#include "cli/who.h"

namespace drover::cli {
namespace {

constexpr std::size_t kNameChars = 16;

Result<bool> is_good(TokenBook& tokens, std::string_view text) {
  const auto document = tokens.read();
  if (!document) return std::unexpected(document.error());
  const auto principal = find_principal(*document, text.substr(0, text.find('\n')), system_clock().wall());
  return principal && principal->role == Role::kAdmin;
}

}  // namespace

Result<std::filesystem::path> keep_user_token(TokenBook& tokens, const std::string& store_url,
                                              const Environment& environment) {
  const auto folder = state_folder(environment);
  if (!folder) return std::unexpected(folder.error());
  std::filesystem::path path = *folder / "tokens" / sha256_hex(store_url).substr(0, kNameChars);
  const auto file = PrivateFile::open_for_writing(path);
  if (!file) return std::unexpected(file.error());
  const auto kept = file->read();
  if (!kept) return std::unexpected(kept.error());
  const auto good = is_good(tokens, *kept);
  if (!good) return std::unexpected(good.error());
  if (*good) return path;
  const auto created = tokens.create({.role = Role::kAdmin, .note = "made by drover up for its user", .by = who()});
  if (!created) return std::unexpected(created.error());
  if (auto written = file->write(created->text + "\n"); !written) return std::unexpected(written.error());
  return path;
}

}  // namespace drover::cli
