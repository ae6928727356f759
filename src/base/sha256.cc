#include "base/sha256.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>
#include <iterator>

#include "base/check.h"

namespace drover {

std::string sha256_hex(std::string_view data) {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  CHECK(EVP_Digest(data.data(), data.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1);
  CHECK(size == digest.size());
  std::string hex;
  hex.reserve(2 * digest.size());
  for (const unsigned char byte : digest) fmt::format_to(std::back_inserter(hex), "{:02x}", byte);
  return hex;
}

bool is_same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace drover
