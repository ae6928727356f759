#include "sim/trace.h"

#include <cstdio>

namespace drover::sim {

void Trace::take_line() {
  constexpr std::uint64_t kFnvPrime = 0x100000001b3;
  for (const char c : line_) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * kFnvPrime;
  hash_ = (hash_ ^ '\n') * kFnvPrime;
  ++lines_;
  if (echo_) fmt::print(stderr, "{}\n", line_);
  if (tail_.size() == kTailLines) {
    tail_.push_back(std::move(tail_.front()));
    tail_.pop_front();
    tail_.back() = line_;
  } else {
    tail_.push_back(line_);
  }
}

std::string Trace::tail() const {
  std::string text;
  for (const std::string& line : tail_) text += line + "\n";
  return text;
}

}  // namespace drover::sim
