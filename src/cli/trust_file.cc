#include "cli/trust_file.h"

#include <fmt/format.h>

#include <string_view>

#include "base/try.h"
#include "cli/files.h"
#include "cli/private_file.h"

namespace drover::cli {
namespace {

constexpr std::size_t kDigestChars = 64;

struct Line {
  std::string_view digest;
  std::string_view path;
};

template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return;  // a line without its end was not written whole
    const std::string_view line = text.substr(0, end);
    if (line.size() > kDigestChars && line[kDigestChars] == ' ') {
      visit(Line{line.substr(0, kDigestChars), line.substr(kDigestChars + 1)});
    }
    text.remove_prefix(end + 1);
  }
}

}  // namespace

Result<TrustFile> TrustFile::of_user(const Environment& environment) {
  auto folder = TRY(state_folder(environment));
  return TrustFile(folder / "trusted");
}

Result<bool> TrustFile::trusts(const std::filesystem::path& file, const std::string& sha256) const {
  const std::optional<PrivateFile> there = TRY(PrivateFile::open_for_reading(path_));
  if (!there) return false;
  const auto text = TRY(there->read());
  bool found = false;
  for_each_line(text,
                [&](const Line& line) { found = found || (line.digest == sha256 && line.path == file.string()); });
  return found;
}

Status TrustFile::trust(const std::filesystem::path& file, const std::string& sha256) const {
  if (file.string().contains('\n'))
    return fail(ErrorCode::kInvalidArgument, "a path that contains a line break cannot be trusted");
  const auto trusted = TRY(PrivateFile::open_for_writing(path_));
  const auto before = TRY(trusted.read());
  std::string after;
  for_each_line(before, [&](const Line& line) {
    if (line.path != file.string()) after += fmt::format("{} {}\n", line.digest, line.path);
  });
  after += fmt::format("{} {}\n", sha256, file.string());
  return trusted.write(after);
}

}  // namespace drover::cli
