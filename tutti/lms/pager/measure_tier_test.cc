#include "tutti/lms/pager/measure_tier.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "tutti/core/test_error.h"

namespace tutti::lms {
namespace {

SwapFile file_with(io::FaultInjector faults) {
  return {std::filesystem::temp_directory_path(), io::FileQueue::Engine::kAuto, std::move(faults)};
}

TEST(MeasureTier, MeasuresDiskAndCodecs) {
  SwapFile file = file_with({});
  const Tier tier = measure_tier(file);
  for (const double bandwidth :
       {tier.write_bandwidth, tier.read_bandwidth, tier.encode_bandwidth, tier.decode_bandwidth}) {
    EXPECT_GT(bandwidth, 1e6);
    EXPECT_LT(bandwidth, 1e13);
  }
}

TEST(MeasureTier, ReportsFailingDisks) {
  SwapFile file = file_with([](const io::RequestInfo& request) {
    return io::Fault{.error = request.is_write ? 0 : EIO};
  });
  EXPECT_NE(error_of([&] { measure_disk(file, 16 << 20); }).find("DDL-5-72"), std::string::npos);
}

}  // namespace
}  // namespace tutti::lms
