#include "tutti/learn/glm/fit_file.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tutti/core/error.h"
#include "tutti/learn/glm/test_problems.h"

namespace tutti::learn {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

class FitFile : public testing::Test {
 protected:
  ~FitFile() override { std::filesystem::remove(path_); }
  std::shared_ptr<const DataFile> write(const Small& small, bool is_sparse,
                                        std::int64_t chunk_rows) {
    DataSet data{.features = small.matrix(), .labels = small.labels, .weights = small.weights};
    if (is_sparse) data.features = to_form(data.features, Form::kSparseRows);
    write_data_file(path_, data, chunk_rows);
    return std::make_shared<DataFile>(path_);
  }
  // The model of a stream beside that of memory.
  void expect_same(const Small& small, bool is_sparse, GlmOptions options, std::int64_t chunk_rows,
                   std::int64_t limit, double tolerance) {
    const auto file = write(small, is_sparse, chunk_rows);
    options.tolerance = 1e-12;
    StreamUse use;
    const GlmModel streamed = fit_file(file, small.labels, small.weights, options, limit, &use);
    EXPECT_LT(use.residents, use.chunks);
    EXPECT_GT(use.residents, 0);
    EXPECT_TRUE(streamed.has_converged);
    const GlmModel expected = small.fit(options);
    EXPECT_NEAR(streamed.objective, expected.objective, 1e-9 * expected.objective);
    for (std::size_t j = 0; j < expected.coefficients.size(); ++j)
      ASSERT_NEAR(streamed.coefficients[j], expected.coefficients[j], tolerance) << j;
    EXPECT_NEAR(streamed.intercept, expected.intercept, tolerance);
  }

  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("tutti-fit-file-" + std::to_string(::getpid()));
};

TEST_F(FitFile, NewtonFindsTheModelOfMemory) {
  for (const Loss loss : {Loss::kLogistic, Loss::kSquared, Loss::kPoisson}) {
    const Small small = make_small(30000, 12, loss, 3);
    expect_same(small, false, {.loss = loss}, 1000, 8 * kMiB, 1e-7);
  }
}

TEST_F(FitFile, WithWeightsAndL1) {
  Small small = make_small(30000, 12, Loss::kLogistic, 4);
  for (std::int64_t r = 0; r < small.rows; ++r) small.weights.push_back(static_cast<double>(r % 3));
  expect_same(small, false, {.l1 = 50, .l2 = 1}, 1111, 8 * kMiB, 1e-6);
}

TEST_F(FitFile, NewtonCgFindsTheModelOfMemoryDenseAndSparse) {
  const Small small = make_small(3000, 600, Loss::kLogistic, 5, 0.1);
  GlmOptions options{.l2 = 3, .solver = Solver::kNewtonCg};
  expect_same(small, false, options, 100, 32 * kMiB, 1e-6);
  expect_same(small, true, options, 100, 39 * kMiB, 1e-6);
}

TEST_F(FitFile, RefusesWhatNeedsAllRows) {
  const Small small = make_small(30000, 12, Loss::kLogistic, 6);
  const auto file = write(small, false, 1000);
  EXPECT_THROW(fit_file(file, small.labels, {}, {.loss = Loss::kHinge}, 6 * kMiB), ConfigError);
  EXPECT_THROW(fit_file(file, small.labels, {}, {}, 4 * kMiB), ConfigError);  // too little
  EXPECT_THROW(fit_file(file, {}, {}, {}, 6 * kMiB), ConfigError);
}

TEST_F(FitFile, FitsInMemoryWhatFits) {
  const Small small = make_small(300, 5, Loss::kLogistic, 6);
  StreamUse use;
  const GlmModel model = fit_file(write(small, false, 100), small.labels, {}, {}, 0, &use);
  EXPECT_EQ(use.engine, "");
  EXPECT_EQ(model.coefficients, small.fit({}).coefficients);
}

std::int64_t status_kib(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == key) return status >> word, std::stoll(word);
  return 0;
}

// In a process of its own, whose peak can be told.
TEST_F(FitFile, StaysWithinTheLimit) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  constexpr std::int64_t kRows = 60000, kLimit = 24 * kMiB;
  {
    const Small small = make_small(kRows, 100, Loss::kLogistic, 7);
    write(small, false, 1024);
  }
  ASSERT_GT(std::filesystem::file_size(path_), 4 * 11 * kMiB);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto file = std::make_shared<DataFile>(path_);
    const std::vector<double> labels = file->labels();
    ::malloc_trim(0);                                 // what the parent has freed is no room for it
    std::ofstream("/proc/self/clear_refs") << "5\n";  // the peak begins anew
    const std::int64_t before = status_kib("VmRSS:");
    const GlmModel model = fit_file(file, labels, {}, {.tolerance = 1e-8, .threads = 2}, kLimit);
    const std::int64_t grown = status_kib("VmHWM:") - before;
    ::_exit(!model.has_converged ? 1 : grown > kLimit / 1024 ? 2 : grown < 1024 ? 3 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "1: not converged, 2: above the limit, 3: nothing measured";
}

}  // namespace
}  // namespace tutti::learn
