#include "tutti/train/run/checkpoint_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "tutti/core/crc32c.h"
#include "tutti/core/error.h"

namespace tutti::train {
namespace {

namespace fs = std::filesystem;

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() {
    std::string form = fs::temp_directory_path() / "checkpoint-XXXXXX";
    folder_ = mkdtemp(form.data());
  }
  ~CheckpointTest() override { fs::remove_all(folder_); }
  Checkpoint example(std::int64_t step) const {
    Checkpoint checkpoint;
    checkpoint.step = step;
    checkpoint.texts["epoch"] = "3";
    checkpoint.put<float>("weights", std::vector<float>{1, 2, 3});
    checkpoint.put<float>("empty", {});
    return checkpoint;
  }
  fs::path folder_;
};

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u);
  EXPECT_EQ(crc32c("", 0), 0u);
  const std::vector<char> zeros(32);
  EXPECT_EQ(crc32c(zeros.data(), 32), 0x8a9136aau);  // RFC 3720
  EXPECT_EQ(crc32c("6789", 4, crc32c("12345", 5)), 0xe3069283u);
}

TEST_F(CheckpointTest, RoundTrips) {
  write_checkpoint(folder_ / "a.ckpt", example(7));
  const Checkpoint read = read_checkpoint(folder_ / "a.ckpt");
  EXPECT_EQ(read.step, 7);
  EXPECT_EQ(read.texts.at("epoch"), "3");
  std::vector<float> weights(3);
  read.get("weights", std::as_writable_bytes(std::span(weights)));
  EXPECT_EQ(weights, (std::vector<float>{1, 2, 3}));
  std::vector<float> wrong(2);
  EXPECT_THROW(read.get("weights", std::as_writable_bytes(std::span(wrong))), IoError);
  EXPECT_FALSE(fs::exists(folder_ / "a.ckpt.part"));
}

TEST_F(CheckpointTest, EveryDamageIsDetected) {
  const fs::path file = folder_ / "a.ckpt";
  write_checkpoint(file, example(7));
  std::ifstream stream(file, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(stream)), {});
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    std::ofstream(file, std::ios::binary) << whole.substr(0, cut);
    EXPECT_THROW(read_checkpoint(file), IoError) << "cut at " << cut;
  }
  std::string flipped = whole;
  flipped[whole.size() - 30] = static_cast<char>(flipped[whole.size() - 30] ^ 1);
  std::ofstream(file, std::ios::binary) << flipped;
  EXPECT_THROW(read_checkpoint(file), IoError);
}

TEST_F(CheckpointTest, KeepsTheLastAndTheBestAndSkipsDamagedFiles) {
  CheckpointFolder checkpoints(folder_ / "all", 2);
  EXPECT_FALSE(checkpoints.newest());
  for (int step : {1, 20, 300}) checkpoints.write(example(step));
  checkpoints.write_best(example(5));
  EXPECT_EQ(checkpoints.newest()->step, 300);
  EXPECT_EQ(checkpoints.best()->step, 5);
  EXPECT_FALSE(fs::exists(folder_ / "all/step-000000000001.ckpt"));
  fs::resize_file(folder_ / "all/step-000000000300.ckpt", 40);
  EXPECT_EQ(checkpoints.newest()->step, 20);
}

// Damaged checkpoints of later steps must not displace those written after them.
TEST_F(CheckpointTest, WritesAfterCorruptFilesAreKept) {
  CheckpointFolder checkpoints(folder_ / "all", 2);
  for (int step : {20, 300, 310}) checkpoints.write(example(step));
  for (const char* name : {"step-000000000300.ckpt", "step-000000000310.ckpt"})
    fs::resize_file(folder_ / "all" / name, 40);
  EXPECT_FALSE(checkpoints.newest());
  for (int step : {30, 40}) checkpoints.write(example(step));
  EXPECT_EQ(checkpoints.newest()->step, 40);
  EXPECT_TRUE(fs::exists(folder_ / "all/step-000000000030.ckpt"));
  EXPECT_FALSE(fs::exists(folder_ / "all/step-000000000310.ckpt"));
}

TEST_F(CheckpointTest, NamesSortAsSteps) {
  CheckpointFolder checkpoints(folder_ / "all", 9);
  for (std::int64_t step : {std::int64_t{999}, std::int64_t{1000}, std::int64_t{2'000'000'000'000}})
    checkpoints.write(example(step));
  std::ofstream(folder_ / "all/step-7 (copy).ckpt") << "of the user";
  EXPECT_EQ(checkpoints.newest()->step, 2'000'000'000'000);
  EXPECT_TRUE(fs::exists(folder_ / "all/step-000000000999.ckpt"));
}

TEST_F(CheckpointTest, ALaterVersionIsAnError) {
  CheckpointFolder checkpoints(folder_ / "all", 9);
  checkpoints.write(example(1));
  EXPECT_EQ(checkpoints.newest()->texts.at("version"), "3");
  Checkpoint later = example(2);
  later.texts["version"] = "4";
  checkpoints.write(later);
  try {
    checkpoints.newest();
    FAIL();
  } catch (const IoError& error) {
    EXPECT_EQ(error.code(), kNewerCheckpoint);
  }
}

TEST_F(CheckpointTest, ReportsThePathItCannotWrite) {
  EXPECT_THROW(write_checkpoint(folder_ / "no/such/a.ckpt", example(1)), IoError);
}

}  // namespace
}  // namespace tutti::train
