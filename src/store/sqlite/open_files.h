// Whether the files of a store are still those that this process has open.
//
// A file that is replaced, renamed or deleted goes on existing for those who have it open: they would acknowledge what
// no other process will ever see. So a store looks before it writes, and again before it acknowledges a commit.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>
#include <vector>

#include "drover/error.h"

namespace drover::sqlite {

class OpenFiles {
 public:
  // Before the first check: the file that is at `path` now is the one that is open.
  [[nodiscard]] Status add(std::string path);
  // kStoreDamaged once one of them was found to be another file, or gone: from then on for ever, because nobody knows
  // what was written to which file meanwhile. kStoreUnavailable if that cannot be seen. From any thread.
  [[nodiscard]] Status check();
  // The same from what is known, without a look.
  [[nodiscard]] Status known() const;

 private:
  struct File {
    std::string path;
    dev_t device;
    ino_t inode;
  };

  std::vector<File> files_;
  std::atomic<const File*> lost_ = nullptr;  // the first that was found to be another
};

}  // namespace drover::sqlite
