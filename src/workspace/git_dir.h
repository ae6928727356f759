// Git directories that Drover writes itself, file by file, so that it knows everything in them.
#pragma once

#include <string>
#include <vector>

#include "drover/error.h"

namespace drover::workspace {

struct GitDirSpec {
  std::string object_format = "sha1";
  std::string head = {};  // the text of HEAD: a commit, or "ref: refs/heads/x"
  bool is_bare = true;
  std::string settings = {};                 // more of the configuration
  std::vector<std::string> alternates = {};  // folders with objects that it borrows
  std::string packed_refs = {};              // "COMMIT REF" lines
  std::string attributes = {};               // these win over .gitattributes of the tree
  std::string shallow = {};                  // where the history was cut off
};

// Every file of the tree is bytes: no line ends, keywords, encodings or filters.
inline constexpr const char* kPlainBytes = "* -text !eol -ident -filter !working-tree-encoding\n";

[[nodiscard]] Status write_git_dir(const std::string& path, const GitDirSpec& spec);

// A text as a value in a git configuration.
[[nodiscard]] std::string config_value(std::string_view text);

}  // namespace drover::workspace
