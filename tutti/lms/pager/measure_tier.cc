#include "tutti/lms/pager/measure_tier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/lms/codec.h"
#include "tutti/lms/pager/mapping.h"

namespace tutti::lms {
namespace {

constexpr std::int64_t kTransfer = 8 << 20;
constexpr std::int64_t kTierBytes = 32 << 20;

// Memory with random words, every other one 0.
class Buffer {
 public:
  Buffer() : memory_(map_temporary(kTransfer)) {
    std::minstd_rand random(1);
    auto* const words = reinterpret_cast<std::uint32_t*>(memory_);
    for (std::int64_t i = 0; i < kTransfer / 4; ++i) {
      const auto word = static_cast<std::uint32_t>(random());
      words[i] = (word & 64) != 0 ? word : 0;
    }
  }
  ~Buffer() { unmap(memory_, kTransfer); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() { return memory_; }
  std::span<std::byte> bytes() { return {memory_, static_cast<std::size_t>(kTransfer)}; }

 private:
  std::byte* const memory_;
};

}  // namespace

DiskBandwidth measure_disk(SwapFile& file, std::int64_t bytes) {
  const auto count = std::max<std::int64_t>(1, bytes / kTransfer);
  Buffer buffer;
  SwapFile::Extent extent = file.allocate(count * kTransfer);
  const auto seconds_of = [&](auto&& start) {
    const Stopwatch watch;
    for (std::int64_t i = 0; i < count; ++i) start(i + 1, extent.offset + i * kTransfer);
    int error = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      file.wait(i + 1);
      if (const int result = file.result(i + 1); result != 0) error = result;
    }
    if (error != 0)
      throw IoError("DDL-5-72",
                    fmt::format("Cannot write to and read from the disk of {}: {}. Name another "
                                "directory with swap_dir or TUTTI_LMS_DIR.",
                                file.directory(), std::strerror(error)));
    return watch.seconds();
  };
  const auto total = static_cast<double>(count * kTransfer);
  DiskBandwidth bandwidth;
  bandwidth.write = total / seconds_of([&](std::int64_t id, std::int64_t offset) {
                      file.start_write(id, offset, kTransfer, buffer.data());
                    });
  bandwidth.read = total / seconds_of([&](std::int64_t id, std::int64_t offset) {
                     file.start_read(id, offset, kTransfer, buffer.data());
                   });
  file.free(extent);
  return bandwidth;
}

Tier measure_tier(SwapFile& file) {
  const DiskBandwidth disk = measure_disk(file, kTierBytes);
  Tier tier;
  tier.write_bandwidth = disk.write;
  tier.read_bandwidth = disk.read;
  Buffer buffer;
  std::vector<std::byte> encoded(static_cast<std::size_t>(kTransfer));
  const Stopwatch encoding;
  const std::int64_t size = encode(Codec::kZeroSuppressed, buffer.bytes(), encoded);
  tier.encode_bandwidth = static_cast<double>(kTransfer) / encoding.seconds();
  const Stopwatch decoding;
  decode(Codec::kZeroSuppressed, std::span(encoded).first(static_cast<std::size_t>(size)),
         buffer.bytes())
      .throw_if_error();
  tier.decode_bandwidth = static_cast<double>(kTransfer) / decoding.seconds();
  return tier;
}

}  // namespace tutti::lms
