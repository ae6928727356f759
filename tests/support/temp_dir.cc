#include "support/temp_dir.h"

#include <stdlib.h>

#include <cerrno>
#include <system_error>

namespace drover::test {

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "drover-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;  // a test that left its folder unreadable on purpose has said what it had to say
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace drover::test
