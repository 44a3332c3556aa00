// External-memory growth: trees are bitwise identical to those grown in memory, and memory stays within the limit.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>

#include "tutti/core/error.h"
#include "tutti/learn/tree/bins/residency.h"
#include "tutti/learn/tree/boosting.h"
#include "tutti/learn/tree/forest.h"
#include "tutti/learn/tree/grow/external_memory.h"
#include "tutti/learn/tree/grow/grower.h"
#include "tutti/learn/tree/io/model_json.h"
#include "tutti/learn/tree/model/test_data.h"

namespace tutti::learn::tree {
namespace {

constexpr std::int64_t kRows = 60'000;

// Inputs of the growth of one tree.
template <class Record>
struct Ground {
  explicit Ground(int missing_of)
      : data(make_data(kRows, 7, missing_of)),
        bins(find_bins(data.matrix(), {.keeps_ranges = true}, threads)),
        in_file(bin_to_file(data.matrix(), bins, 5000, std::filesystem::temp_directory_path(),
                            threads)) {
    options.columns.resize(7);
    std::iota(options.columns.begin(), options.columns.end(), 0);
    options.is_classification = true;
  }

  // Skips every 13th row.
  std::int64_t records(std::int64_t begin, std::int64_t end, Record* target) {
    passes += begin == 0 ? 1 : 0;
    Record* const first = target;
    for (std::int64_t row = begin; row < end; ++row)
      if (row % 13 != 0) {
        *target = {};
        target->row = static_cast<std::uint32_t>(row);
        target->gradient = data.labels[static_cast<std::size_t>(row)] > 0 ? 2 : 0;
        target++->hessian = 2;
      }
    return target - first;
  }

  void expect_same_tree(std::int64_t memory, int least_passes) {
    const HistogramShape shape = {sizeof(Record) == 8 ? Kind::kNarrow : Kind::kWide, 7, 0};
    const SplitSearch search(bins, shape, rules);
    const RecordSource<Record> source = [&](std::int64_t begin, std::int64_t end, Record* target) {
      return records(begin, end, target);
    };
    Records<Record> rows, scratch;
    fill(source, kRows, threads, rows);
    scratch.resize(rows.size);
    const BinnedData in_memory = bin(data.matrix(), bins, threads);
    std::vector<std::int32_t> tree_index;
    Model expected, streamed;
    expected.trees = {to_tree(grow<Record>({in_memory, search, options, rows, scratch}, threads),
                              bins, rules, tree_index)};
    passes = 0;
    streamed.trees = {
        to_tree(grow_external_memory<Record>({in_file, search, options, source, memory}, threads),
                bins, rules, tree_index)};
    EXPECT_GT(expected.trees[0].nodes.size(), 20U);
    EXPECT_GE(passes, least_passes);
    expect_same(streamed, expected);
  }

  Threads threads = Threads(2);
  TestData data;
  Bins bins;
  BinnedData in_file;
  GrowOptions options;
  SplitRules rules;
  std::atomic<int> passes = 0;
};

TEST(Streamed, LargeNodesAreSplitAndSmallOnesGathered) {
  Ground<NarrowRecord> ground(20);
  ground.expect_same_tree(1'500'000, 5);
  ground.options.max_depth = 1;
  ground.options.max_depth = 9;
  ground.options.keeps_last_rows = false;
  ground.rules.min_samples_leaf = 30;
  ground.expect_same_tree(1'400'000, 5);
}

TEST(Streamed, DataThatFitsIsReadOnce) {
  Ground<NarrowRecord> ground(0);
  ground.expect_same_tree(std::int64_t{1} << 30, 1);
  EXPECT_EQ(ground.passes, 1);
}

TEST(Streamed, BestFirstGrowthIsTheSame) {
  Ground<WideRecord> ground(20);
  for (const int leaves : {12, 60}) {
    ground.options.max_leaves = leaves;
    ground.expect_same_tree(std::int64_t{2'000'000} + leaves * 7 * 4096, 4);
  }
}

TEST(Streamed, SampledColumnsAndThresholdsAreTheSame) {
  Ground<WideRecord> ground(0);
  ground.options.columns_per_node = 2;
  ground.options.max_depth = 6;
  ground.expect_same_tree(2'600'000, 4);
  ground.rules.random_thresholds = true;
  ground.expect_same_tree(2'600'000, 4);
}

TEST(Streamed, TooLittleMemoryIsReportedWithTheNeededAmount) {
  const TestData data = make_data(1000, 5);
  Threads threads(1);
  ForestOptions options;
  options.classes = 2;
  options.memory_limit = 1000;
  try {
    train_forest(data.matrix(), {data.labels, {}}, options, threads);
    FAIL() << "a thousand bytes were enough";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("DDL-9-27"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("Raise it by"), std::string::npos);
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

constexpr std::int64_t kMappedRows = 500'000, kMappedColumns = 30;

// A mapped file of 60 MB, written piece by piece, with labels that depend on two columns.
struct MappedData {
  MappedData() {
    const auto path =
        std::filesystem::temp_directory_path() / ("tutti-streamed-" + std::to_string(getpid()));
    std::ofstream file(path, std::ios::binary);
    std::mt19937 random(1);
    std::vector<float> row(kMappedColumns);
    for (std::int64_t i = 0; i < kMappedRows; ++i) {
      for (float& value : row) value = static_cast<float>(random() % 1000);
      labels.push_back(row[3] + row[7] > 1000 + static_cast<float>(random() % 300) ? 1 : 0);
      file.write(reinterpret_cast<const char*>(row.data()), kMappedColumns * sizeof(float));
    }
    file.close();
    const int opened = open(path.c_str(), O_RDONLY);
    values = mmap(nullptr, kMappedRows * kMappedColumns * sizeof(float), PROT_READ, MAP_SHARED,
                  opened, 0);
    close(opened);
    std::filesystem::remove(path);
  }
  Matrix matrix() const {
    return {Storage::kDense, DType::kF32, kMappedRows, kMappedColumns, values, kMappedColumns, 1};
  }
  std::vector<double> labels;
  void* values = nullptr;
};

std::int64_t peak_bytes() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  return 0;
}

// Prints the error and exits with 1.
template <class Train>
void expect_within_limit(const MappedData& data, const Train& train) {
  constexpr std::int64_t kRoom = 14 << 20;  // a quarter of the data
  const std::int64_t limit = resident_bytes() + kRoom;
  std::ofstream("/proc/self/clear_refs") << 5;  // resets the peak
  const std::string streamed = to_json(train(data, limit));
  const std::int64_t peak = peak_bytes();
  if (peak > limit) {
    std::cerr << "peak " << peak << " above the limit " << limit << "\n";
    _exit(1);
  }
  if (streamed != to_json(train(data, 0))) {
    std::cerr << "another model\n";
    _exit(1);
  }
  if (peak_bytes() < limit + kRoom) {
    std::cerr << "the data is too small for this test\n";
    _exit(1);
  }
}

Model train_trees(const MappedData& data, std::int64_t limit) {
  Threads threads(2);
  ForestOptions options;
  options.classes = 2;
  options.trees = 2;
  options.bootstrap = true;
  options.max_depth = 8;
  options.columns_per_node = 8;
  options.bins.sample = 20'000;
  options.memory_limit = limit;
  return train_forest(data.matrix(), {data.labels, {}}, options, threads);
}

Model train_boosted(const MappedData& data, std::int64_t limit) {
  Threads threads(2);
  BoostOptions options;
  options.objective = "logistic";
  options.rounds = 3;
  options.max_leaves = 15;
  options.bins.sample = 20'000;
  options.memory_limit = limit;
  return train_boosting(data.matrix(), {data.labels, {}}, options, threads).model;
}

// In a separate process, to measure its memory.
TEST(StreamedDeathTest, ResidentSetStaysBelowTheLimit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const MappedData data;
        expect_within_limit(data, train_trees);
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        const MappedData data;
        expect_within_limit(data, train_boosted);
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

#endif

}  // namespace
}  // namespace tutti::learn::tree
