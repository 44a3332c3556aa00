#include "tutti/learn/data/data_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <iterator>
#include <random>

#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/data/csv.h"
#include "tutti/learn/data/internal/checksum.h"
#include "tutti/learn/data/internal/chunk_check.h"
#include "tutti/learn/data/snap_file.h"
#include "tutti/learn/data/svmlight.h"

namespace tutti::learn {
namespace {

class DataFiles : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static DataSet make() {
    std::string text;
    std::mt19937 random(8);
    for (int row = 0; row < 50; ++row) {
      text += row % 2 == 0 ? "1" : "-1";
      for (int j = 1; j < 9; ++j)
        if (random() % 3 != 0)
          text += " " + std::to_string(j) + ":" + std::to_string(random() % 50) + ".5";
      text += "\n";
    }
    DataSet data = parse_svmlight(text, "f", {.columns = 9});
    for (int row = 0; row < 50; ++row) data.weights.push_back(row);
    return data;
  }
  static std::vector<float> numbers(const Matrix& matrix) {
    const Matrix dense = to_storage(matrix, Storage::kDense, 1);
    const float* values = static_cast<const float*>(dense.values);
    return {values, values + dense.entries()};
  }

  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("tutti-data-" + std::to_string(::getpid()));
};

// In every format: missing labels must not be read from beyond the end of the array.
TEST_F(DataFiles, NeedALabelAndAWeightForEveryRow) {
  DataSet few_labels = make(), few_weights = make();
  few_labels.labels.resize(5);
  few_weights.weights.resize(49);
  for (const DataSet* data : {&few_labels, &few_weights}) {
    EXPECT_THROW(write_data_file(path_, *data), ConfigError);
    EXPECT_THROW(write_snap(path_, *data), ConfigError);
    EXPECT_THROW(write_svmlight(path_, *data), ConfigError);
    EXPECT_THROW(write_csv(path_, *data), ConfigError);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(DataFiles, RoundTrip) {
  const DataSet data = make();
  for (const Storage storage : {Storage::kCsr, Storage::kDense})
    for (const std::int64_t chunk_rows : {7, 50, 1000}) {
      DataSet other = data;
      other.features = to_storage(data.features, storage, 1);
      write_data_file(path_, other, chunk_rows);
      const DataFile file(path_);
      EXPECT_EQ(file.rows(), 50);
      EXPECT_EQ(file.chunks(), (50 + chunk_rows - 1) / chunk_rows);
      const DataSet all = file.read(0, file.chunks());
      EXPECT_EQ(all.labels, data.labels);
      EXPECT_EQ(all.weights, data.weights);
      EXPECT_EQ(numbers(all.features), numbers(data.features));
      const DataSet last = file.read(file.chunks() - 1);
      EXPECT_EQ(last.features.rows, file.rows_of(file.chunks() - 1));
      EXPECT_EQ(last.labels.back(), data.labels.back());
    }
}

TEST_F(DataFiles, KeepImplicitValues) {
  DataSet data = parse_svmlight("1 1:1 2:1 3:1 4:1\n-1 2:1\n", "f");
  data.features.implicit = Implicit::kUnitNorm;
  write_data_file(path_, data);
  const DataSet again = DataFile(path_).read(0);
  EXPECT_EQ(again.features.values, nullptr);
  EXPECT_EQ(numbers(again.features), numbers(data.features));
}

TEST_F(DataFiles, ExistOnlyWhenFinished) {
  {
    DataFileWriter writer(path_, {.columns = 2});
    std::vector<float> values = {1, 2, 3, 4};
    writer.add(
        {Matrix{.rows = 2, .columns = 2, .values = values.data(), .row_stride = 2}, {1, -1}, {}});
    EXPECT_THROW(
        writer.add(
            {Matrix{.rows = 1, .columns = 3, .values = values.data(), .row_stride = 3}, {1}, {}}),
        ConfigError);
    EXPECT_THROW(
        writer.add(
            {Matrix{.rows = 2, .columns = 2, .values = values.data(), .row_stride = 2}, {1}, {}}),
        ConfigError);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(DataFiles, MayHaveNoRows) {
  write_data_file(path_, {Matrix{.columns = 3}, {}, {}});
  EXPECT_EQ(DataFile(path_).rows(), 0);
  EXPECT_EQ(DataFile(path_).read(0, 0).features.rows, 0);
}

TEST_F(DataFiles, DamageIsAlwaysDetected) {
  write_data_file(path_, make(), 20);
  const std::string good = bytes();
  std::mt19937 random(9);
  for (int round = 0; round < 2000; ++round) {
    std::string text = good;
    std::size_t offset = random() % text.size();
    if (round % 4 == 0) {
      text.resize(offset);
    } else {
      const char changed = static_cast<char>(random());
      if (text[offset] == changed) continue;
      text[offset] = changed;
    }
    std::ofstream(path_, std::ios::binary) << text;
    try {
      const DataFile file(path_);
      const DataSet all = file.read(0, file.chunks());
      EXPECT_EQ(numbers(all.features), numbers(make().features));  // only padding was changed
    } catch (const IoError&) {
    }
  }
}

// Arrays without padding, so the old checksum covers all bytes.
TEST_F(DataFiles, Version1IsReadable) {
  std::vector<float> values(64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const DataSet data = {Matrix{.rows = 8, .columns = 8, .values = values.data(), .row_stride = 8},
                        {1, 2, 3, 4, 5, 6, 7, 8},
                        {}};
  write_data_file(path_, data);
  std::string file = bytes();
  const auto put = [&](std::size_t offset, std::uint64_t number, std::size_t size) {
    std::memcpy(file.data() + offset, &number, size);
  };
  const std::size_t chunk = 4096, index = file.size() - 48;
  put(8, 1, 4);
  put(56, checksum_of(file.data(), 56), 8);
  put(index + 32, checksum_of(file.data() + chunk, 64 + 256), 8);
  put(index + 40, checksum_of(file.data() + index, 40), 8);
  std::ofstream(path_, std::ios::binary) << file;
  EXPECT_EQ(DataFile(path_).read(0).labels, data.labels);
  EXPECT_EQ(numbers(DataFile(path_).read(0).features), values);
  put(chunk + 70, 1, 1);
  std::ofstream(path_, std::ios::binary) << file;
  EXPECT_THROW(DataFile(path_).read(0), IoError);
}

TEST(Checksums, DetectEveryChangedByte) {
  std::vector<std::byte> bytes((1 << 20) + 64);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  const std::uint64_t sum = checksum_of_chunk(bytes.data(), bytes.size());
  for (const std::size_t at : {std::size_t{0}, std::size_t{300000}, bytes.size() - 1}) {
    bytes[at] ^= std::byte{4};
    EXPECT_NE(checksum_of_chunk(bytes.data(), bytes.size()), sum);
    bytes[at] ^= std::byte{4};
  }
  EXPECT_NE(checksum_of_chunk(bytes.data(), bytes.size() - 64), sum);
}

// Checks the last piece first; any order is allowed.
void check_backwards(const DataFile& file, const std::byte* start) {
  ChunkCheck check(file, 0, start);
  ASSERT_GT(check.pieces(), 3);
  for (std::int64_t piece = check.pieces(); piece-- > 0;) {
    ChunkCheck::Walk walk(check, piece, piece + 1);
    walk.check_until(piece * ChunkCheck::piece_bytes() + 5000);
    walk.check_all();
  }
  check.finish();
}

TEST_F(DataFiles, ChunksAreVerifiedPieceByPiece) {
  std::vector<float> values(300 * 1000, 0.5f);
  DataSet data;
  data.features = {.rows = 300, .columns = 1000, .values = values.data(), .row_stride = 1000};
  data.labels.assign(300, 1);
  write_data_file(path_, data, 300);
  const DataFile file(path_);
  EXPECT_TRUE(file.can_check_pieces());
  std::vector<std::byte> bytes(file.mapped(0), file.mapped(0) + file.bytes_of(0));
  EXPECT_NO_THROW(check_backwards(file, bytes.data()));
  for (const std::size_t at : {std::size_t{9}, bytes.size() / 2, bytes.size() - 1}) {
    bytes[at] ^= std::byte{1};
    EXPECT_THROW(check_backwards(file, bytes.data()), IoError);
    bytes[at] ^= std::byte{1};
  }
  values.back() = std::numeric_limits<float>::infinity();
  write_data_file(path_, data, 300);
  const DataFile infinite(path_);
  EXPECT_THROW(check_backwards(infinite, infinite.mapped(0)), ConfigError);
}

}  // namespace
}  // namespace tutti::learn
