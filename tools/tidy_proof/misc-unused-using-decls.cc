#include <vector>

using std::vector;  // flagged
