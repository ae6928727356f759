#include "store/page_cursor.h"

#include <charconv>

#include "base/text.h"

namespace drover {

Result<std::int64_t> parse_page_cursor(const std::optional<std::string>& cursor, TaskOrder order) {
  constexpr std::int64_t kBeyondAll = std::int64_t{1} << 52;  // exact in Lua's numbers, too
  if (!cursor) return order == TaskOrder::kNewestFirst ? kBeyondAll : 0;
  std::int64_t before = 0;
  const char* end = cursor->data() + cursor->size();
  const auto [stop, error] = std::from_chars(cursor->data(), end, before);
  if (error != std::errc() || stop != end || before <= 0) {
    return fail(ErrorCode::kInvalidArgument, "not a cursor: " + quoted_excerpt(*cursor));
  }
  return before;
}

}  // namespace drover
