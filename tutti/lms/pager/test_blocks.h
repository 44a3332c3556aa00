// Test helpers: pagers on a temporary directory, and blocks with known content.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <utility>

#include "tutti/lms/pager/pager.h"

namespace tutti::lms {

inline constexpr std::int64_t kBlock = 256 << 10;

inline PagerOptions options_with(std::int64_t blocks, io::FaultInjector faults = {}) {
  PagerOptions options;
  options.budget = blocks * kBlock;
  options.directory = std::filesystem::temp_directory_path();
  options.address_space = std::int64_t{1} << 34;
  options.pin_timeout = 0;
  options.verifies = true;
  options.faults = std::move(faults);
  return options;
}

// Words of a block that identify `seed` and their position.
inline void fill(std::byte* data, std::uint64_t seed, std::int64_t bytes = kBlock) {
  auto* words = reinterpret_cast<std::uint64_t*>(data);
  for (std::int64_t i = 0; i < bytes / 8; ++i) words[i] = seed * 1'000'003 + std::uint64_t(i);
}
inline bool is_filled(const std::byte* data, std::uint64_t seed, std::int64_t bytes = kBlock) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(data);
  for (std::int64_t i = 0; i < bytes / 8; ++i)
    if (words[i] != seed * 1'000'003 + std::uint64_t(i)) return false;
  return true;
}

// Pages out a block that can leave, and waits until it is out.
inline void move_out(Pager& pager, const void* address) {
  const BlockRef ref = pager.find(address);
  EXPECT_TRUE(pager.page_out(ref));
  pager.finish_page_out(ref);
}

// Pins a block for a scope.
class Pinned {
 public:
  Pinned(Pager& pager, const void* address) : pager_(pager), ref_(pager.find(address)) {
    pager_.pin({&ref_, 1});
  }
  ~Pinned() { pager_.unpin({&ref_, 1}); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  Pager& pager_;
  const BlockRef ref_;
};

}  // namespace tutti::lms
