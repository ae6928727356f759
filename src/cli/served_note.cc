#include "cli/served_note.h"

#include "base/log.h"
#include "base/sha256.h"
#include "base/try.h"
#include "cli/files.h"
#include "cli/private_file.h"

namespace drover::cli {
namespace {

constexpr std::size_t kNoteNameChars = 16;

Result<std::filesystem::path> note_path(const std::string& store_url, const Environment& environment) {
  const auto folder = TRY(state_folder(environment));
  return folder / "servers" / sha256_hex(store_url).substr(0, kNoteNameChars);
}

Result<std::filesystem::path> write_note(const std::string& store_url, const std::string& text,
                                         const Environment& environment) {
  auto path = TRY(note_path(store_url, environment));
  const auto file = TRY(PrivateFile::open_for_writing(path));
  TRY(file.write(text));
  return path;
}

}  // namespace

ServedNote::ServedNote(const std::string& store_url, const std::string& server_url, const Environment& environment)
    : text_(server_url + "\n") {
  if (auto written = write_note(store_url, text_, environment)) {
    path_ = *std::move(written);
  } else {
    log_warn("serve", "`drover dashboard` will not find this server", {{"error", to_string(written.error())}});
  }
}

ServedNote::~ServedNote() {
  if (path_.empty()) return;
  const auto file = PrivateFile::open_for_writing(path_);
  if (!file || file->read() != text_) return;
  if (const Status emptied = file->write(""); !emptied) {
    log_warn("serve", "cannot take the server's note away", {{"error", to_string(emptied.error())}});
  }
}

Result<std::optional<std::string>> ServedNote::find(const std::string& store_url, const Environment& environment) {
  const auto path = TRY(note_path(store_url, environment));
  const auto file = TRY(PrivateFile::open_for_reading(path));
  if (!file) return std::nullopt;
  const auto text = TRY(file->read());
  const std::string url = text.substr(0, text.find('\n'));
  return url.empty() ? std::nullopt : std::optional(url);
}

}  // namespace drover::cli
