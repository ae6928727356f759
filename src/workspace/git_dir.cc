#include "workspace/git_dir.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/try.h"
#include "workspace/files.h"

namespace drover::workspace {
namespace {

std::string configuration(const GitDirSpec& spec) {
  const bool is_sha1 = spec.object_format == "sha1";
  std::string text = fmt::format("[core]\n\trepositoryformatversion = {}\n\tfilemode = true\n\tbare = {}\n",
                                 is_sha1 ? 0 : 1, spec.is_bare);
  if (!is_sha1) text += fmt::format("[extensions]\n\tobjectFormat = {}\n", spec.object_format);
  return text + spec.settings;
}

}  // namespace

Status write_git_dir(const std::string& path, const GitDirSpec& spec) {
  for (const char* folder : {"", "/objects", "/objects/info", "/objects/pack", "/refs", "/refs/heads", "/info"}) {
    TRY(make_folder(path + folder));
  }
  std::string alternates;
  for (const std::string& objects : spec.alternates) alternates += objects + "\n";
  const std::array<std::pair<const char*, std::string>, 6> files{{
      {"/config", configuration(spec)},
      {"/objects/info/alternates", alternates},
      {"/packed-refs", spec.packed_refs},
      {"/info/attributes", spec.attributes},
      {"/shallow", spec.shallow},
      {"/HEAD", spec.head + "\n"},
  }};
  for (const auto& [name, text] : files) {
    if (text.empty()) continue;
    TRY(write_file(path + name, text));
  }
  return {};
}

std::string config_value(std::string_view text) {
  std::string value = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') value += '\\';
    value += c;
  }
  return value + "\"";
}

}  // namespace drover::workspace
