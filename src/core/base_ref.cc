#include "core/base_ref.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace drover {
namespace {

constexpr std::size_t kBytesMax = 255;
constexpr std::size_t kSha1Digits = 40;
constexpr std::size_t kSha256Digits = 64;
constexpr std::array<std::string_view, 3> kFolders{"refs/heads/", "refs/tags/", "refs/remotes/"};

std::unexpected<Error> refuse(std::string_view base, std::string_view why) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} {}; name HEAD, a branch, a tag, a remote branch, or the full id of a commit",
                          quoted_excerpt(base), why));
}

// As git check-ref-format has it, which leaves out every way to write anything but a name: "main~1", "@{u}", ":/text".
bool is_ref_name(std::string_view name) {
  const auto is_bad = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || byte == 0x7f || std::string_view("~^:?*[\\").contains(c);
  };
  if (std::ranges::any_of(name, is_bad) || name.contains("..") || name.contains("@{") || name.contains("//"))
    return false;
  if (name.starts_with('/') || name.ends_with('/') || name.ends_with('.') || name == "@") return false;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.starts_with('.') || part.ends_with(".lock")) return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace

bool is_work_of_a_task(std::string_view ref) {
  if (ref.starts_with("refs/remotes/")) {
    const std::size_t slash = ref.find('/', std::string_view("refs/remotes/").size());
    return slash != std::string_view::npos && ref.substr(slash).starts_with("/drover/");
  }
  return ref.starts_with("refs/heads/drover/");
}

bool is_commit_id(std::string_view base) {
  return (base.size() == kSha1Digits || base.size() == kSha256Digits) &&
         std::ranges::all_of(base, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Result<std::vector<std::string>> refs_of_base(std::string_view base) {
  if (base == "HEAD") return std::vector<std::string>{"HEAD"};
  if (base.empty() || base.size() > kBytesMax || base.starts_with('-') || !is_ref_name(base))
    return refuse(base, "is not the name of a ref");
  std::vector<std::string> refs;
  if (base.starts_with("refs/")) {
    if (std::ranges::none_of(kFolders, [&](std::string_view folder) { return base.starts_with(folder); }))
      return refuse(base, "is not a branch or a tag");
    refs.emplace_back(base);
  } else {
    for (const std::string_view folder : kFolders) refs.push_back(fmt::format("{}{}", folder, base));
  }
  if (std::ranges::any_of(refs, is_work_of_a_task)) return refuse(base, "is the work of a task");
  return refs;
}

}  // namespace drover
