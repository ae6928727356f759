// Arguments of a function as one flat MessagePack list, which Redis takes apart faster than as many arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace drover::redis {

// Pack().put("t").put(7).list()
class Pack {
 public:
  Pack& put(std::string_view text) {
    if (text.size() < 32) {
      byte(0xa0 | text.size());
    } else if (text.size() <= 0xff) {
      byte(0xd9).big_endian(text.size(), 1);
    } else if (text.size() <= 0xffff) {
      byte(0xda).big_endian(text.size(), 2);
    } else {
      byte(0xdb).big_endian(text.size(), 4);
    }
    elements_ += text;
    return counted();
  }
  Pack& put(const char* text) { return put(std::string_view(text)); }
  Pack& put(const std::string& text) { return put(std::string_view(text)); }
  Pack& put(bool value) { return byte(value ? 0xc3 : 0xc2).counted(); }
  Pack& put(std::int64_t value) {
    if (value >= 0 && value < 128) return byte(static_cast<std::size_t>(value)).counted();
    return byte(0xd3).big_endian(static_cast<std::size_t>(value), 8).counted();
  }
  Pack& put(int value) { return put(std::int64_t{value}); }

  // What was put into another one.
  Pack& put(const Pack& other) {
    elements_ += other.elements_;
    size_ += other.size_;
    return *this;
  }

  [[nodiscard]] std::size_t size() const { return size_; }

  // Everything that was put, as one list.
  [[nodiscard]] std::string list() const {
    Pack head;
    head.byte(0xdd).big_endian(size_, 4);
    return head.elements_ + elements_;
  }

 private:
  Pack& byte(std::size_t value) {
    elements_.push_back(static_cast<char>(value));
    return *this;
  }
  Pack& big_endian(std::size_t value, int width) {
    for (int shift = (width - 1) * 8; shift >= 0; shift -= 8) byte((value >> shift) & 0xff);
    return *this;
  }
  Pack& counted() {
    ++size_;
    return *this;
  }

  std::string elements_;
  std::size_t size_ = 0;
};

}  // namespace drover::redis
