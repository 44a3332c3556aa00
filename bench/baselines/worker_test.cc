#include "bench/baselines/worker.h"

#include <gtest/gtest.h>

#include <sstream>
#include <vector>

namespace tutti::bench {
namespace {

// One rank of `size`, whose all-reduce adds the contributions of the other ranks, except at `wrong`.
class Simulated : public Contender {
 public:
  Simulated(int rank, int size, std::size_t wrong) : rank_(rank), size_(size), wrong_(wrong) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void all_reduce(float* data, std::size_t count) override {
    ++calls_;
    if (count == 1 || data[0] == 0) return;  // lining up, or timing on zeros
    for (std::size_t i = 0; i < count; ++i)
      for (int peer = 0; peer < size_; ++peer)
        if (peer != rank_ && i != wrong_) data[i] += detail::value_at(i, peer % 5 + 1);
  }
  int calls() const { return calls_; }

 private:
  int rank_, size_;
  std::size_t wrong_;
  int calls_ = 0;
};

constexpr std::size_t kNone = -1;

TEST(Worker, RightSumsPassOnEveryRank) {
  for (int rank = 0; rank < 7; ++rank) {
    Simulated contender(rank, 7, kNone);
    std::vector<float> data(3000);
    EXPECT_NO_THROW(detail::check(contender, data.data(), data.size()));
  }
}

TEST(Worker, OneWrongElementIsFound) {
  for (std::size_t wrong : {std::size_t{0}, std::size_t{1021}, std::size_t{2999}}) {
    Simulated contender(1, 3, wrong);
    std::vector<float> data(3000);
    EXPECT_THROW(detail::check(contender, data.data(), data.size()), std::runtime_error) << wrong;
  }
}

TEST(Worker, MeasuresAsManyBatchesAsAskedFor) {
  Simulated contender(0, 2, kNone);
  std::vector<float> data(16);
  std::istringstream answer(detail::measure(contender, data.data(), data.size(), 4, 5, 3));
  std::string word;
  answer >> word;
  EXPECT_EQ(word, "times");
  int times = 0;
  for (double seconds; answer >> seconds; ++times) EXPECT_GE(seconds, 0);
  EXPECT_EQ(times, 3);
  EXPECT_EQ(contender.calls(), 1 + 4 + 3 * (1 + 5));  // check, warm-up, batches with their line-up
}

TEST(Worker, PlainMemoryOnlyOfTheKnownKind) {
  Simulated contender(0, 1, kNone);
  EXPECT_NE(contender.allocate("caller", 4096), nullptr);
  EXPECT_THROW(contender.allocate("library", 4096), std::invalid_argument);
}

}  // namespace
}  // namespace tutti::bench
