#include "tutti/learn/glm/fit_file.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iostream>

#include "tutti/comm/communicator.h"
#include "tutti/comm/transport/thread/thread_world.h"
#include "tutti/core/error.h"
#include "tutti/learn/glm/test_problems.h"

namespace tutti::learn {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

class FitFile : public testing::Test {
 protected:
  struct Case {
    const Small* small;
    bool is_sparse;
    GlmOptions options;
    std::int64_t chunk_rows, limit;
  };
  ~FitFile() override { std::filesystem::remove(path_); }
  std::shared_ptr<const DataFile> write(const Small& small, bool is_sparse,
                                        std::int64_t chunk_rows) {
    DataSet data{.features = small.matrix(), .labels = small.labels, .weights = small.weights};
    if (is_sparse) data.features = to_storage(data.features, Storage::kCsr);
    write_data_file(path_, data, chunk_rows);
    return std::make_shared<DataFile>(path_);
  }
  // Compares the model of a stream with that of a fit in memory.
  void expect_same(const Small& small, bool is_sparse, GlmOptions options, std::int64_t chunk_rows,
                   std::int64_t limit, double tolerance) {
    const auto file = write(small, is_sparse, chunk_rows);
    options.tolerance = 1e-12;
    StreamStats use;
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

TEST_F(FitFile, NewtonMatchesTheFitInMemory) {
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

TEST_F(FitFile, NewtonCgMatchesTheFitInMemory) {
  const Small small = make_small(3000, 600, Loss::kLogistic, 5, 0.1);
  GlmOptions options{.l2 = 3, .solver = Solver::kNewtonCg};
  expect_same(small, false, options, 100, 32 * kMiB, 1e-6);
  expect_same(small, true, options, 100, 39 * kMiB, 1e-6);
}

// With enough resident rows for the Hessian, each step reads the file once.
TEST_F(FitFile, NewtonCgUsesTheHessianOfResidentRows) {
  for (const Loss loss : {Loss::kLogistic, Loss::kSquared, Loss::kPoisson}) {
    Small small = make_small(30000, 20, loss, 12);
    GlmOptions options{.loss = loss, .l2 = 3, .solver = Solver::kNewtonCg};
    expect_same(small, false, options, 500, 9 * kMiB, 1e-6);
    options.penalise_intercept = true;
    for (std::int64_t r = 0; r < small.rows; ++r)
      small.weights.push_back(static_cast<double>(r % 3));
    expect_same(small, false, options, 500, 9 * kMiB, 1e-6);
  }
  const Small small = make_small(30000, 20, Loss::kLogistic, 12);
  const auto file = write(small, false, 500);
  const auto size = static_cast<double>(std::filesystem::file_size(path_));
  for (const bool has_intercept : {false, true}) {
    const GlmOptions options{
        .l2 = 3, .fit_intercept = has_intercept, .solver = Solver::kNewtonCg, .tolerance = 1e-4};
    StreamStats use;
    const GlmModel model = fit_file(file, small.labels, {}, options, 9 * kMiB, &use);
    EXPECT_TRUE(model.has_converged);
    EXPECT_LT(use.residents, use.chunks);
    EXPECT_LT(static_cast<double>(use.bytes_read), 4 * size);
  }
}

// The first pass moves the weights close to the optimum, the second one certifies the gap.
TEST_F(FitFile, NewtonCgNeedsTwoPassesForACoarseFit) {
  const Small small = make_small(30000, 20, Loss::kLogistic, 12);
  const auto file = write(small, false, 500);
  GlmOptions options{
      .l2 = 3, .fit_intercept = false, .solver = Solver::kNewtonCg, .tolerance = 1e-2};
  StreamStats use;
  const GlmModel model = fit_file(file, small.labels, {}, options, 9 * kMiB, &use);
  EXPECT_TRUE(model.has_converged);
  EXPECT_EQ(model.history.size(), 1u);
  const auto size = static_cast<double>(std::filesystem::file_size(path_));
  EXPECT_LT(static_cast<double>(use.bytes_read), 2.2 * size);
  options.tolerance = 1e-12;
  EXPECT_NEAR(model.objective, small.fit(options).objective, 1e-4 * model.objective);
}

// Rows sorted by label make the weights diverge during the first pass.
TEST_F(FitFile, NewtonCgOnRowsSortedByLabel) {
  const Small mixed = make_small(30000, 20, Loss::kLogistic, 13);
  Small sorted = mixed;
  std::int64_t to = 0;
  for (const double label : {-1.0, 1.0})
    for (std::int64_t r = 0; r < mixed.rows; ++r) {
      if (mixed.labels[r] != label) continue;
      std::copy_n(mixed.values.begin() + r * mixed.columns, mixed.columns,
                  sorted.values.begin() + to * mixed.columns);
      sorted.labels[to++] = label;
    }
  ASSERT_EQ(to, mixed.rows);
  for (const bool has_intercept : {false, true})
    expect_same(sorted, false,
                {.l2 = 3, .fit_intercept = has_intercept, .solver = Solver::kNewtonCg}, 500,
                9 * kMiB, 1e-6);
}

TEST_F(FitFile, L1OnMoreColumnsThanNewtonSupports) {
  const Small small = make_small(3000, 600, Loss::kLogistic, 8, 0.1);
  expect_same(small, false, {.l1 = 20, .l2 = 0}, 100, 9 * kMiB, 1e-4);
  expect_same(small, true, {.l1 = 20, .l2 = 1}, 100, 6 * kMiB, 1e-4);
}

TEST_F(FitFile, HingeLossFromAFile) {
  Small small = make_small(30000, 12, Loss::kLogistic, 6);
  for (std::int64_t r = 0; r < small.rows; ++r) small.weights.push_back(static_cast<double>(r % 3));
  for (const bool is_sparse : {false, true}) {
    const auto file = write(small, is_sparse, 1000);
    const GlmOptions options{.loss = Loss::kHinge, .l2 = 500, .tolerance = 1e-4};
    StreamStats use;
    const GlmModel model = fit_file(file, small.labels, small.weights, options, 8 * kMiB, &use);
    EXPECT_LT(use.residents, use.chunks);
    EXPECT_TRUE(model.has_converged);
    const GlmModel expected = small.fit(options);
    EXPECT_NEAR(model.objective, expected.objective, 2e-4 * expected.objective);
    EXPECT_NEAR(model.objective, objective_of(small, model, options), 1e-6 * model.objective);
  }
}

TEST_F(FitFile, Multinomial) {
  const Small small = make_small(9000, 12, Loss::kSquared, 9);
  std::vector<std::int32_t> classes;
  for (const double label : small.labels) classes.push_back(label < -0.3 ? 0 : label < 0.6 ? 1 : 2);
  for (const double l1 : {0.0, 30.0}) {
    const GlmOptions options{.l1 = l1, .l2 = 1, .tolerance = 1e-10};
    const MultinomialModel expected = fit_multinomial(small.matrix(), classes, 3, {}, options);
    for (const bool is_sparse : {false, true}) {
      StreamStats use;
      const MultinomialModel model =
          fit_multinomial_file(write(small, is_sparse, 400), classes, 3, {}, options,
                               (l1 > 0 ? 6400 : 7300) << 10, &use);
      EXPECT_LT(use.residents, use.chunks);
      for (std::size_t i = 0; i < expected.coefficients.size(); ++i)
        ASSERT_NEAR(model.coefficients[i], expected.coefficients[i], 1e-4) << i;
      for (int k = 0; k < 3; ++k) EXPECT_NEAR(model.intercepts[k], expected.intercepts[k], 1e-4);
    }
  }
}

// Each rank has different chunks and a separate limit; with many ranks the last one has no chunks.
TEST_F(FitFile, RanksWithALimitMatchOneProcess) {
  const Small few = make_small(30000, 12, Loss::kLogistic, 10);
  const Small many = make_small(3000, 600, Loss::kLogistic, 11, 0.1);
  const GlmOptions tight{.l2 = 3, .tolerance = 1e-11},
      hinge{.loss = Loss::kHinge, .l2 = 500, .tolerance = 1e-4};
  const GlmOptions sparse{.l1 = 20, .l2 = 1, .tolerance = 1e-11};
  const std::vector<Case> cases = {{&few, false, tight, 500, 6400 << 10},
                                   {&few, false, hinge, 500, 5 * kMiB},
                                   {&many, false, tight, 100, 27 * kMiB},
                                   {&many, true, sparse, 20, 4800 << 10},
                                   {&few, false, tight, 15000, 0}};
  for (const Case& one : cases) {
    const GlmModel expected = one.small->fit(one.options);
    write(*one.small, one.is_sparse, one.chunk_rows);
    comm::ThreadWorld world(3);
    world.run([&](comm::Transport& transport) {
      const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
      GlmOptions own = one.options;
      own.ranks = communicator.get();
      const auto file = std::make_shared<DataFile>(path_, transport.rank(), 3);
      StreamStats use;
      const GlmModel model = fit_file(file, file->labels(), {}, own, one.limit, &use);
      EXPECT_EQ(use.residents < use.chunks, one.limit > 0);
      EXPECT_TRUE(model.has_converged);
      EXPECT_NEAR(model.objective, expected.objective,
                  2 * own.tolerance * expected.objective + 1e-6);
    });
  }
}

// The callback is called before each chunk, and not again after it has returned true.
void expect_stops(const std::function<void(const std::function<bool()>& should_stop)>& fit) {
  int all = 0;
  fit([&] { return ++all, false; });
  ASSERT_GT(all, 100);
  for (const int last : {1, 2, all / 4, all / 2, all - 1, all}) {
    int asked = 0;
    fit([&] { return ++asked >= last; });
    EXPECT_EQ(asked, last) << "of " << all;
  }
}

TEST_F(FitFile, StopsAtTheNextChunk) {
  const Small few = make_small(30000, 12, Loss::kLogistic, 6);
  const Small many = make_small(3000, 600, Loss::kLogistic, 8, 0.1);
  const std::vector<Case> cases = {
      {&few, false, {}, 500, 8 * kMiB},
      {&few, false, {.l2 = 3, .solver = Solver::kNewtonCg}, 500, 9 * kMiB},
      {&few, false, {.loss = Loss::kHinge, .l2 = 500, .tolerance = 1e-3}, 1000, 8 * kMiB},
      {&many, true, {.l2 = 3, .solver = Solver::kNewtonCg}, 100, 39 * kMiB},
      {&many, false, {.l1 = 20, .l2 = 0}, 100, 9 * kMiB}};
  for (const Case& one : cases) {
    const auto file = write(*one.small, one.is_sparse, one.chunk_rows);
    expect_stops([&](const std::function<bool()>& should_stop) {
      bool is_stopped = false;
      GlmOptions options = one.options;
      options.should_stop = [&] { return is_stopped = should_stop(); };
      const GlmModel model = fit_file(file, one.small->labels, {}, options, one.limit);
      EXPECT_EQ(model.has_converged, !is_stopped);
      ASSERT_EQ(static_cast<std::int64_t>(model.coefficients.size()), one.small->columns);
      EXPECT_TRUE(std::isfinite(objective_of(*one.small, model, options)));
    });
  }
}

TEST_F(FitFile, MultinomialStopsAtTheNextChunk) {
  const Small small = make_small(9000, 12, Loss::kSquared, 9);
  std::vector<std::int32_t> classes;
  for (const double label : small.labels) classes.push_back(label < 0 ? 0 : 1);
  const auto file = write(small, true, 400);
  expect_stops([&](const std::function<bool()>& should_stop) {
    bool is_stopped = false;
    GlmOptions options;
    options.should_stop = [&] { return is_stopped = should_stop(); };
    const MultinomialModel model = fit_multinomial_file(file, classes, 2, {}, options, 7 * kMiB);
    EXPECT_EQ(model.has_converged, !is_stopped);
    EXPECT_EQ(model.coefficients.size(), 24u);
    EXPECT_EQ(model.intercepts.size(), 2u);
  });
}

// A fit that is stopped on the sample does not read the file.
TEST_F(FitFile, StopsOnTheSample) {
  const Small small = make_small(80000, 4, Loss::kLogistic, 6);
  const auto file = write(small, false, 1000);
  int asked = 0;
  GlmOptions options;
  options.on_progress = [](const Progress&) { return false; };
  options.should_stop = [&] { return ++asked, false; };
  const GlmModel model = fit_file(file, small.labels, {}, options, 8 * kMiB);
  EXPECT_EQ(asked, 0);
  EXPECT_FALSE(model.has_converged);
  EXPECT_EQ(model.coefficients.size(), 4u);
}

TEST_F(FitFile, RejectsInvalidInput) {
  const Small small = make_small(30000, 12, Loss::kLogistic, 6);
  const auto file = write(small, false, 1000);
  EXPECT_THROW(fit_file(file, small.labels, {}, {}, 4 * kMiB), ConfigError);  // too small
  EXPECT_THROW(fit_file(file, {}, {}, {}, 6 * kMiB), ConfigError);
  const GlmOptions by_columns{.l1 = 1, .solver = Solver::kWorkingSet};
  EXPECT_THROW(fit_file(file, small.labels, {}, by_columns, 6 * kMiB), ConfigError);
  EXPECT_THROW(DataFile(path_, 3, 3), ConfigError);
}

TEST_F(FitFile, FitsInMemoryIfPossible) {
  const Small small = make_small(300, 5, Loss::kLogistic, 6);
  StreamStats use;
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

// In a separate process, to measure its peak memory.
TEST_F(FitFile, StaysWithinTheLimit) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers use additional memory";
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
    ::malloc_trim(0);  // memory freed by the parent must not be reused
    std::ofstream("/proc/self/clear_refs") << "5\n";  // resets the peak
    const std::int64_t before = status_kib("VmRSS:");
    const GlmModel model = fit_file(file, labels, {}, {.tolerance = 1e-8, .threads = 2}, kLimit);
    const std::int64_t grown = status_kib("VmHWM:") - before;
    std::cerr << "grown by " << grown << " KiB\n";
    ::_exit(!model.has_converged ? 1 : grown > kLimit / 1024 ? 2 : grown < 1024 ? 3 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "1: not converged, 2: above the limit, 3: nothing measured";
}

}  // namespace
}  // namespace tutti::learn
