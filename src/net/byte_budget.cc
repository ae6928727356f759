#include "net/byte_budget.h"

#include <algorithm>
#include <utility>

namespace drover {
namespace {

constexpr std::size_t kStrangersWeight = 4;
// Fewer bytes are not worth a connection.
constexpr std::size_t kWorthBytes = 16 * 1024;

}  // namespace

void ByteBudget::Charge::set(std::size_t bytes) {
  if (bytes == bytes_) return;
  budget_.held_.fetch_add(bytes - bytes_, std::memory_order_relaxed);  // wraps for fewer bytes, and that is right
  bytes_ = bytes;
}

ByteBudget::Holder::Holder(ByteBudget& budget, std::function<void()> let_go)
    : budget_(budget),
      charge_(budget),
      let_go_(std::move(let_go)),
      place_(budget.holders_.insert(budget.holders_.end(), this)) {}

void ByteBudget::relieve() {
  while (is_over() && make_room()) {
  }
}

bool ByteBudget::make_room() {
  const auto weight = [](const Holder* holder) {
    if (holder->bytes() < kWorthBytes) return std::size_t{0};
    return holder->bytes() * (holder->is_known_ ? 1 : kStrangersWeight);
  };
  const auto heaviest = std::ranges::max_element(holders_, {}, weight);
  if (heaviest == holders_.end() || weight(*heaviest) == 0) return false;
  (*heaviest)->let_go_();
  return true;
}

}  // namespace drover
