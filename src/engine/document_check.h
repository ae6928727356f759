// fsck of the documents that the engine keeps: stores know nothing of what they say.
#pragma once

#include <vector>

#include "store/store.h"

namespace drover {

// What is wrong with them; what is to be repaired is. One that cannot be read begins anew, but for the access tokens:
// a store that forgot them would lock everybody out.
[[nodiscard]] Result<std::vector<Finding>> check_documents(Store& store, FsckMode mode);

}  // namespace drover
