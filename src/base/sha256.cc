#include "base/sha256.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>

#include "base/check.h"

namespace drover {

namespace {

// Found once: looking for it takes longer than the digest of a short text. Lives as long as the process.
const EVP_MD* sha256() {
  static const EVP_MD* const kFound = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  CHECK(kFound != nullptr);
  return kFound;
}

}  // namespace

std::string sha256_hex(std::string_view data) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  CHECK(EVP_Digest(data.data(), data.size(), digest.data(), &size, sha256(), nullptr) == 1);
  CHECK(size == digest.size());
  std::string hex;
  hex.reserve(2 * digest.size());
  for (const unsigned char byte : digest) {
    hex.push_back(kHexDigits[byte >> 4]);
    hex.push_back(kHexDigits[byte & 15]);
  }
  return hex;
}

bool is_same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace drover
