#include "tutti/auth/secret.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tutti/core/error.h"

namespace tutti::auth {
namespace {

TEST(Secret, RoundTripsThroughTheEnvironment) {
  const Secret secret = Secret::generate();
  ::setenv(Secret::kVariable, secret.to_hex().c_str(), 1);
  const auto read = Secret::from_environment();
  ::unsetenv(Secret::kVariable);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->to_hex(), secret.to_hex());
  EXPECT_FALSE(Secret::from_environment());
}

TEST(Secret, IsDifferentEachTime) {
  EXPECT_NE(Secret::generate().to_hex(), Secret::generate().to_hex());
}

TEST(Secret, RejectsAllBut64HexadecimalDigits) {
  EXPECT_FALSE(Secret::from_hex(""));
  EXPECT_FALSE(Secret::from_hex(std::string(63, 'a')));
  EXPECT_FALSE(Secret::from_hex(std::string(65, 'a')));
  EXPECT_FALSE(Secret::from_hex(std::string(63, 'a') + "g"));
  EXPECT_TRUE(Secret::from_hex(std::string(64, 'a')));
}

TEST(Secret, DoesNotRepeatAMalformedValue) {
  ::setenv(Secret::kVariable, "hunter2", 1);
  try {
    Secret::from_environment();
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.code(), "DDL-6-40");
    EXPECT_EQ(std::string(error.what()).find("hunter2"), std::string::npos);
  }
  ::unsetenv(Secret::kVariable);
}

// The value of RFC 4231, test case 2, with its key padded by zeros, which HMAC ignores.
TEST(Secret, SignsByHmacSha256) {
  const auto secret = Secret::from_hex("4a656665" + std::string(56, '0'));
  const Secret::Mac mac = secret->sign("what do ya want for nothing?");
  EXPECT_EQ(mac[0], 0x5b);
  EXPECT_EQ(mac[1], 0xdc);
  EXPECT_EQ(mac[31], 0x43);
  EXPECT_TRUE(secret->verify("what do ya want for nothing?", mac));
  EXPECT_FALSE(secret->verify("what do ya want for nothing!", mac));
  EXPECT_FALSE(secret->verify("what do ya want for nothing?", std::span(mac).first(31)));
}

}  // namespace
}  // namespace tutti::auth
