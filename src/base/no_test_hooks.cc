// What every program answers that is not a test. The definitions are weak: those of tests/hooks replace them where a
// test program links these.
#include "base/failpoint.h"
#include "base/planted_bug.h"

namespace drover {

[[gnu::weak]] void failpoint(Failpoint /*step*/) {}

[[gnu::weak]] bool planted(PlantedBug /*bug*/) {
  return false;
}

}  // namespace drover
