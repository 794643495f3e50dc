#include "base/sha256.h"

#include <gtest/gtest.h>

namespace dovetail::base {
namespace {

// The examples that NIST publishes beside FIPS 180-4 (SHA256.pdf, SHA2_Additional.pdf), and the million of FIPS 180-2,
// appendix B.3.
TEST(Sha256Hex, HasThePublishedValues) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex("\xBD"), "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
  EXPECT_EQ(sha256_hex(std::string(1000, 'A')), "c2e686823489ced2017f6059b8b239318b6364f6dcd835d0a519105a1eadd6e4");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Hex, HashesZeroBytesToo) {
  // Around the 55 and 64 bytes at which padding and blocks begin: 55, 56 and 64 zeros (SHA2_Additional.pdf).
  EXPECT_EQ(sha256_hex(std::string(55, '\0')), "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7");
  EXPECT_EQ(sha256_hex(std::string(56, '\0')), "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb");
  EXPECT_EQ(sha256_hex(std::string(64, '\0')), "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
}

TEST(IsSha256Hex, TellsItsForm) {
  EXPECT_TRUE(is_sha256_hex(sha256_hex("abc")));
  EXPECT_FALSE(is_sha256_hex(""));
  EXPECT_FALSE(is_sha256_hex(std::string(63, '0')));
  EXPECT_FALSE(is_sha256_hex(std::string(65, '0')));
  EXPECT_FALSE(is_sha256_hex(std::string(63, '0') + "A"));
  EXPECT_FALSE(is_sha256_hex(std::string(63, '0') + "g"));
}

}  // namespace
}  // namespace dovetail::base
