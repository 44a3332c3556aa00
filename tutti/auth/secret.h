// Shared secret of the processes of one job.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tutti::auth {

// A key of 256 random bits. A launcher generates one per job and passes it to the ranks through the environment, never
// on a command line, which every local user can read. Concurrent calls of const functions are safe.
class Secret {
 public:
  static constexpr std::size_t kBytes = 32;
  static constexpr const char* kVariable = "TUTTI_JOB_SECRET";  // 64 hexadecimal digits

  // A new secret from the system's random number generator. Throws IoError (DDL-6-41) if the system has none.
  static Secret generate();
  // The inverse of to_hex(). Returns nullopt unless `text` consists of exactly 64 hexadecimal digits.
  static std::optional<Secret> from_hex(std::string_view text);
  // The secret in kVariable; nullopt if the variable is not set or empty. Throws ConfigError (DDL-6-40) if its value is
  // malformed; the message does not contain the value.
  static std::optional<Secret> from_environment();

  std::string to_hex() const;

  // Keyed hash (HMAC-SHA-256) of `message`.
  using Mac = std::array<std::uint8_t, 32>;
  Mac sign(std::string_view message) const;
  // Returns true if `mac` is the keyed hash of `message`. The comparison takes constant time.
  bool verify(std::string_view message, std::span<const std::uint8_t> mac) const;

 private:
  Secret() = default;
  std::array<std::uint8_t, kBytes> key_{};
};

}  // namespace tutti::auth
