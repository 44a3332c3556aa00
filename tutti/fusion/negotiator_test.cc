#include "tutti/fusion/negotiator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <random>

namespace tutti::fusion {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Report tensor(const std::string& name, std::int64_t count = 10) {
  return {.name = name, .signature = {.counts = {count}}};
}

// All ranks of a job and the messages between them. The root releases each tensor as soon as it is ready.
class Job {
 public:
  Job(int size, int radix, std::size_t capacity = 1000) {
    for (int r = 0; r < size; ++r) {
      positions.emplace_back(r, size, radix);
      ranks.emplace_back(positions.back(), capacity);
    }
    released.resize(size);
    received.resize(size);
    in_flight.resize(size);
  }

  // Delivers messages until none is in flight; the order between links is random.
  void settle(std::mt19937& random) {
    for (bool moved = true; moved;) {
      moved = false;
      std::vector<int> order(ranks.size());
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      for (const int r : order) moved |= move(r);
    }
  }

  bool move(int r) {
    bool moved = false;
    const int parent = positions[r].parent;
    UpMessage up = ranks[r].take_up();
    if (parent >= 0 && !up.is_empty()) {
      const auto& siblings = positions[parent].children;
      const auto child = std::find(siblings.begin(), siblings.end(), r) - siblings.begin();
      const UpMessage copy = decode_up(encode(up));
      bits += copy.known.size();
      reports += copy.reports.size();
      ranks[parent].receive(static_cast<std::size_t>(child), copy, now);
      ++received[parent];
      moved = true;
    }
    if (parent < 0) {
      DownMessage down;
      for (const Report& report : ranks[r].take_ready()) {
        if (report.trouble.empty()) {
          down.buckets.push_back({ranks[r].item_of(report)});
        } else {
          down.failures.push_back({report.name, "DDL-4-72", report.trouble, false});
        }
      }
      if (ranks[r].all_joined()) down.last_joined = ranks[r].last_joined();
      if (!down.is_empty()) in_flight[r].push_back(encode(down));
    }
    while (!in_flight[r].empty()) {
      const std::string bytes = in_flight[r].front();
      in_flight[r].pop_front();
      if (parent >= 0) ++received[r];
      DownMessage down = decode_down(bytes);
      ranks[r].apply(down);
      for (const auto& bucket : down.buckets)
        for (const Item& item : bucket) released[r].push_back(item.report.name);
      for (const auto& failure : down.failures) troubles.push_back(failure.text);
      if (down.last_joined >= 0) last_joined = down.last_joined;
      for (const int child : positions[r].children) in_flight[child].push_back(bytes);
      moved = true;
    }
    return moved;
  }

  std::vector<TreePosition> positions;
  std::deque<Negotiator> ranks;
  std::vector<std::vector<std::string>> released;
  std::vector<std::deque<std::string>> in_flight;
  std::vector<int> received;
  std::vector<std::string> troubles;
  std::size_t bits = 0, reports = 0;
  std::int64_t now = 0;
  int last_joined = -1;
};

TEST(TreePosition, EveryRankHasOnePosition) {
  for (const int radix : {1, 2, 3, 8}) {
    for (const int size : {1, 2, 7, 64, 100}) {
      for (int r = 0; r < size; ++r) {
        const TreePosition position(r, size, radix);
        EXPECT_LE(position.children.size(), static_cast<std::size_t>(radix));
        std::size_t below = 0;
        for (std::size_t c = 0; c < position.children.size(); ++c) {
          EXPECT_EQ(TreePosition(position.children[c], size, radix).parent, r);
          below += position.below[c].size();
        }
        EXPECT_TRUE(r > 0 || below + 1 == static_cast<std::size_t>(size));
      }
    }
  }
}

TEST(Negotiator, SameOrderEverywhereWhateverTheOrderOfSubmission) {
  std::mt19937 random(1);
  for (const int size : {1, 2, 5, 13}) {
    for (const int radix : {1, 2, 4}) {
      Job job(size, radix);
      std::vector<std::string> names;
      for (int t = 0; t < 20; ++t) names.push_back("t" + std::to_string(t));
      for (int step = 0; step < 3; ++step) {
        for (int r = 0; r < size; ++r) {
          std::shuffle(names.begin(), names.end(), random);
          for (const std::string& name : names) {
            job.ranks[r].submit(tensor(name), 0);
            if (random() % 3 == 0) job.move(static_cast<int>(random() % size));
          }
        }
        job.settle(random);
      }
      ASSERT_EQ(job.released[0].size(), 60u);
      for (int r = 1; r < size; ++r) EXPECT_EQ(job.released[r], job.released[0]);
      EXPECT_TRUE(
          std::all_of(job.ranks.begin(), job.ranks.end(), [](auto& n) { return n.is_quiet(); }));
    }
  }
}

// The message bound stated in negotiator.h, for more ranks than a test machine can run.
TEST(Negotiator, NoRankReceivesMoreThanRadixPlusOneMessagesPerTensor) {
  std::mt19937 random(2);
  for (const int radix : {2, 8}) {
    Job job(3000, radix);
    const int tensors = 4;
    for (int t = 0; t < tensors; ++t) {
      for (auto& rank : job.ranks) rank.submit(tensor("t" + std::to_string(t)), 0);
      job.settle(random);
    }
    ASSERT_EQ(job.released[2999].size(), 4u);
    EXPECT_LE(*std::max_element(job.received.begin(), job.received.end()), (radix + 1) * tensors);
    EXPECT_EQ(job.received[0], radix * tensors);  // the root has no parent
  }
}

TEST(Negotiator, AfterTheFirstStepReportsAreBits) {
  std::mt19937 random(3);
  Job job(5, 2);
  for (int step = 0; step < 10; ++step) {
    for (auto& rank : job.ranks) rank.submit(tensor("w"), 0);
    job.settle(random);
  }
  EXPECT_EQ(job.reports, 4u);
  EXPECT_EQ(job.bits, 36u);
}

TEST(Negotiator, ATensorOfAnotherSizeIsAnotherEntry) {
  std::mt19937 random(4);
  Job job(3, 2);
  for (const std::int64_t count : {10, 11, 10, 11}) {
    for (auto& rank : job.ranks) rank.submit(tensor("w", count), 0);
    job.settle(random);
  }
  EXPECT_EQ(job.reports, 4u);  // two ranks, two sizes
  EXPECT_EQ(job.bits, 4u);
  EXPECT_TRUE(job.troubles.empty());
}

TEST(Negotiator, AFullCacheAndUnnamedTensorsStillWork) {
  std::mt19937 random(5);
  Job job(3, 2, 1);
  for (int step = 0; step < 3; ++step) {
    for (auto& rank : job.ranks) {
      Report unnamed = tensor("unnamed");
      unnamed.is_cacheable = false;
      rank.submit(unnamed, 0);
      rank.submit(tensor("a"), 0);
      rank.submit(tensor("b"), 0);
    }
    job.settle(random);
  }
  EXPECT_EQ(job.released[2].size(), 9u);
  EXPECT_EQ(job.bits, 4u);  // for one of the tensors, after the first step
}

TEST(Negotiator, DisagreementNamesBothSides) {
  std::mt19937 random(6);
  for (const int other : {0, 1, 4}) {
    Job job(6, 2);
    for (int step = 0; step < 2; ++step) {  // the second time some ranks send a cache index
      for (int r = 0; r < 6; ++r) {
        const bool differs = step == 1 && r == other;
        job.ranks[r].submit(tensor("w", differs ? 12 : 10), 0);
      }
      job.settle(random);
    }
    ASSERT_EQ(job.troubles.size(), 6u);  // every rank receives the failure
    EXPECT_THAT(job.troubles[0],
                HasSubstr("rank " + std::to_string(other) + " has all_reduce of 12 f32 (sum)"));
    EXPECT_THAT(job.troubles[0], HasSubstr("has all_reduce of 10 f32 (sum)"));
  }
}

TEST(Negotiator, JoinedRanksAreNotWaitedFor) {
  std::mt19937 random(7);
  Job job(7, 2);
  for (const int r : {1, 4, 6}) job.ranks[r].join();
  job.settle(random);
  for (const int r : {0, 2, 3, 5}) job.ranks[r].submit(tensor("w"), 0);
  job.settle(random);
  for (int r = 0; r < 7; ++r) EXPECT_THAT(job.released[r], ElementsAre("w"));
  for (const int r : {0, 2, 5}) job.ranks[r].join();
  job.settle(random);
  EXPECT_EQ(job.last_joined, -1);
  job.ranks[3].submit(tensor("v"), 0);
  job.ranks[3].join();
  job.settle(random);
  EXPECT_THAT(job.released[6], ElementsAre("w", "v"));
  EXPECT_EQ(job.last_joined, 3);
  // From here on every rank is needed again.
  for (int r = 0; r < 6; ++r) job.ranks[r].submit(tensor("u"), 0);
  job.settle(random);
  EXPECT_EQ(job.released[0].size(), 2u);
  job.ranks[6].submit(tensor("u"), 0);
  job.settle(random);
  EXPECT_EQ(job.released[0].size(), 3u);
}

TEST(Negotiator, CollectivesThatNeedAllRanksFailAfterAJoin) {
  std::mt19937 random(10);
  Job job(4, 2);
  Report broadcast = tensor("w");
  broadcast.signature.kind = Kind::kBroadcast;
  job.ranks[3].submit(broadcast, 0);
  job.ranks[3].join();  // it has submitted this tensor before
  for (int r = 0; r < 3; ++r) job.ranks[r].submit(broadcast, 0);
  job.settle(random);
  EXPECT_THAT(job.released[0], ElementsAre("w"));
  for (int r = 0; r < 3; ++r) job.ranks[r].submit(broadcast, 0);
  job.settle(random);
  ASSERT_EQ(job.troubles.size(), 4u);
  EXPECT_THAT(job.troubles[0], HasSubstr("some have joined"));
}

// Each rank reports its own stalls upwards; the root names exactly the missing ranks, at any depth of the tree.
TEST(Negotiator, AStallNamesTheRanksThatAreMissing) {
  std::mt19937 random(8);
  for (int seed = 0; seed < 50; ++seed) {
    const int size = 2 + static_cast<int>(random() % 30);
    Job job(size, 1 + static_cast<int>(random() % 4));
    std::vector<int> missing;
    for (int r = 0; r < size; ++r) {
      if (random() % 2 == 0) {
        missing.push_back(r);
      } else {
        job.ranks[r].submit(tensor("w"), 0);
      }
    }
    if (missing.empty() || static_cast<int>(missing.size()) == size) continue;
    job.settle(random);
    for (int r = size - 1; r > 0; --r) {  // ranks far from the root first
      job.ranks[r].look_for_stalls(100, 100);
      job.settle(random);
    }
    std::vector<Stall> stalls = job.ranks[0].look_for_stalls(200, 100);
    ASSERT_EQ(stalls.size(), 1u);
    std::sort(stalls[0].missing.begin(), stalls[0].missing.end());
    EXPECT_EQ(stalls[0].missing, missing);
    EXPECT_EQ(stalls[0].name, "w");
    EXPECT_TRUE(job.ranks[0].look_for_stalls(300, 100).empty());  // not repeated at once
    EXPECT_FALSE(job.ranks[0].look_for_stalls(400, 100).empty());
  }
}

TEST(Negotiator, TheRootLearnsWhichRanksHaveLeft) {
  std::mt19937 random(9);
  Job job(6, 2);
  job.ranks[5].leave();
  job.settle(random);
  EXPECT_THAT(job.ranks[0].left(), ElementsAre(5));
  for (auto& rank : job.ranks) rank.leave();
  job.settle(random);
  EXPECT_TRUE(job.ranks[0].all_left());
}

}  // namespace
}  // namespace tutti::fusion
