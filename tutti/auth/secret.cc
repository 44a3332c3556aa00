#include "tutti/auth/secret.h"

#include <fmt/format.h>
#include <sodium.h>

#include <cstdlib>

#include "tutti/core/error.h"

namespace tutti::auth {
namespace {

static_assert(Secret::kBytes == crypto_auth_hmacsha256_KEYBYTES);
static_assert(std::tuple_size_v<Secret::Mac> == crypto_auth_hmacsha256_BYTES);

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// libsodium requires sodium_init() before any other call. It is idempotent and thread-safe.
void initialize_sodium() {
  if (sodium_init() < 0) {
    throw IoError("DDL-6-41", "The system has no source of random numbers (getrandom failed).");
  }
}

}  // namespace

Secret Secret::generate() {
  initialize_sodium();
  Secret secret;
  randombytes_buf(secret.key_.data(), secret.key_.size());
  return secret;
}

std::optional<Secret> Secret::from_hex(std::string_view text) {
  initialize_sodium();
  Secret secret;
  const bool is_hex =
      text.size() == 2 * kBytes && sodium_hex2bin(secret.key_.data(), kBytes, text.data(),
                                                  text.size(), nullptr, nullptr, nullptr) == 0;
  return is_hex ? std::optional(secret) : std::nullopt;
}

std::optional<Secret> Secret::from_environment() {
  const char* text = std::getenv(kVariable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const auto secret = from_hex(text);
  if (secret) return secret;
  throw ConfigError("DDL-6-40",
                    fmt::format("{} is malformed. Set it to the same 64 hexadecimal digits on "
                                "every rank, for example from: openssl rand -hex 32. Or unset it.",
                                kVariable));
}

std::string Secret::to_hex() const {
  std::string text(2 * kBytes + 1, '\0');  // sodium_bin2hex appends a NUL
  sodium_bin2hex(text.data(), text.size(), key_.data(), key_.size());
  text.pop_back();
  return text;
}

Secret::Mac Secret::sign(std::string_view message) const {
  Mac mac;
  crypto_auth_hmacsha256(mac.data(), bytes_of(message), message.size(), key_.data());
  return mac;
}

bool Secret::verify(std::string_view message, std::span<const std::uint8_t> mac) const {
  return mac.size() == crypto_auth_hmacsha256_BYTES &&
         crypto_auth_hmacsha256_verify(mac.data(), bytes_of(message), message.size(),
                                       key_.data()) == 0;
}

}  // namespace tutti::auth
