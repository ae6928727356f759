#include "base/sha256.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

// FIPS 180-2, appendix B, and the empty text.
TEST(Sha256Test, GivesThePublishedDigests) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, TakesBytesOfAnyValue) {
  EXPECT_EQ(sha256_hex(std::string_view("\0", 1)), "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
}

TEST(SecretTest, AreTheSameOnlyIfEveryByteIs) {
  EXPECT_TRUE(is_same_secret("", ""));
  EXPECT_TRUE(is_same_secret("abc", "abc"));
  EXPECT_FALSE(is_same_secret("abc", "abd"));
  EXPECT_FALSE(is_same_secret("abc", "abcd"));
  EXPECT_FALSE(is_same_secret("abc", ""));
}

}  // namespace
}  // namespace drover
