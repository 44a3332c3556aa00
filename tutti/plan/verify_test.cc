// Each test introduces one defect into correct plans; the verifier must report it.
#include "tutti/plan/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tutti/plan/build.h"
#include "tutti/plan/test_grids.h"

namespace tutti::plan {
namespace {

using testing::grid_of;
using ::testing::HasSubstr;

class Broken {
 public:
  Broken(topo::Grid grid, const Choice& choice, std::int64_t count = 64) : grid_(std::move(grid)) {
    request_.count = count;
    for (int r = 0; r < grid_.size(); ++r) plans_.push_back(build(grid_, request_, choice, r));
  }
  Plan& plan(int rank) { return plans_[rank]; }
  std::vector<Step>& steps(int rank, int lane = 0) { return plans_[rank].lanes[lane].steps; }
  // Returns the n-th step of this kind.
  Step& step(int rank, StepKind kind, int n = 0) { return *find(rank, kind, n); }
  void erase(int rank, StepKind kind, int n = 0) { steps(rank).erase(find(rank, kind, n)); }
  void erase_on_all(StepKind kind, int n) {
    for (int r = 0; r < grid_.size(); ++r) erase(r, kind, n);
  }
  std::string problem(bool in_place = false) const {
    return verify(grid_, {request_}, plans_, {1, in_place}).problem;
  }

 private:
  std::vector<Step>::iterator find(int rank, StepKind kind, int n) {
    return std::find_if(steps(rank).begin(), steps(rank).end(),
                        [&](const Step& s) { return s.kind == kind && n-- == 0; });
  }
  topo::Grid grid_;
  Request request_;
  std::vector<Plan> plans_;
};

TEST(Verify, FindsAMissingMessage) {
  Broken ring(grid_of({3}), {{"ring"}});
  ASSERT_EQ(ring.problem(), "");
  ring.erase(1, StepKind::kExchange, 3);
  EXPECT_THAT(ring.problem(), HasSubstr("deadlock"));
}

TEST(Verify, FindsMessagesOfOtherSizes) {
  Broken ring(grid_of({2}), {{"ring"}});
  ring.step(1, StepKind::kExchange).source.count -= 1;
  EXPECT_THAT(ring.problem(), HasSubstr("which expects"));
}

TEST(Verify, FindsASyncThatOneRankDoesNotPass) {
  Broken direct(grid_of({3}, 1), {{"direct"}});
  direct.erase(2, StepKind::kHostBarrier, 1);
  EXPECT_THAT(direct.problem(), HasSubstr("pass other host barriers in lane 0"));
}

TEST(Verify, FindsRacesWhenASyncIsMissing) {
  const Choice one_rail{{"direct", "ring"}, 1, 1};
  // 1: host barrier after the reduction; 2: host barrier before the read.
  for (const int missing : {1, 2}) {
    Broken plans(grid_of({2, 2}, 1), one_rail, kMaxSlotBytes);
    ASSERT_EQ(plans.problem(), "");
    plans.erase_on_all(StepKind::kHostBarrier, missing);
    EXPECT_THAT(plans.problem(), HasSubstr("race on the memory")) << missing;
  }
}

TEST(Verify, FindsRanksThatDisagreeAboutASlot) {
  const Choice one_rail{{"direct", "ring"}, 1, 1};
  Broken rootless(grid_of({2, 2}, 1), one_rail);
  ASSERT_EQ(rootless.problem(), "");
  rootless.step(1, StepKind::kLeaderBroadcast).receive_from = 1;
  EXPECT_THAT(rootless.problem(), HasSubstr("disagrees with its group about a slot"));
  Broken hasty(grid_of({2, 2}, 1), one_rail);
  hasty.erase_on_all(StepKind::kLeaderReduce, 0);
  EXPECT_NE(hasty.problem(), "");
}

TEST(Verify, FindsRanksThatDisagreeAboutTheProtocol) {
  Broken plans(grid_of({3}, 1), {{"host_direct"}});
  ASSERT_EQ(plans.problem(), "");
  plans.step(1, StepKind::kHostAllReduce).protocol = HostProtocol::kStaged;
  EXPECT_THAT(plans.problem(), HasSubstr("disagrees with its host about the protocol"));
  Broken missing(grid_of({3}, 1), {{"host_eager"}});
  missing.erase(2, StepKind::kHostAllReduce);
  EXPECT_THAT(missing.problem(), HasSubstr("deadlock"));
}

TEST(Verify, FindsInvalidHostAllReduces) {
  Broken eager(grid_of({2}, 1), {{"host_staged"}}, kMaxSlotBytes);  // elements of 4 bytes
  for (const int rank : {0, 1}) {
    eager.step(rank, StepKind::kHostAllReduce).protocol = HostProtocol::kEager;
  }
  EXPECT_THAT(eager.problem(), HasSubstr("more than a slot holds"));
  Broken busy(grid_of({2}, 1), {{"host_direct"}});
  busy.steps(0).push_back(busy.steps(0)[0]);
  EXPECT_THAT(busy.problem(), HasSubstr("does more than its host's all-reduce"));
  Broken partial(grid_of({3}, 1), {{"host_direct"}});
  for (const int rank : {0, 1, 2}) partial.plan(rank).groups[0] = {0, 1};
  EXPECT_NE(partial.problem(), "");
}

TEST(Verify, FindsRacesOfAliasesInPlaceOnly) {
  // In place, rank 0 stores its slice to memory that rank 1 has not read yet.
  Broken plans(grid_of({2}, 1), {{"direct"}});
  Step& reduction = plans.step(0, StepKind::kReduceMapped);
  reduction.target.begin = plans.step(1, StepKind::kReduceMapped).target.begin;
  EXPECT_THAT(plans.problem(true), HasSubstr("race on the memory"));
}

TEST(Verify, FindsRacesBetweenLanes) {
  Broken plans(grid_of({2}, 1), {{"direct"}, 2});
  plans.plan(0).lanes[1].output = plans.plan(0).lanes[0].output;
  EXPECT_THAT(plans.problem(), HasSubstr("lanes 0 and 1 of rank 0 overlap"));
}

TEST(Verify, FindsWrongResults) {
  Broken forgotten(grid_of({4}), {{"ring"}});
  forgotten.step(2, StepKind::kExchange, 1).reduce = false;
  forgotten.step(2, StepKind::kExchange, 1).completes = false;
  EXPECT_THAT(forgotten.problem(), HasSubstr("wrong result"));
  Broken uncopied(grid_of({4}), {{"ring"}});
  uncopied.erase(1, StepKind::kCopy);
  EXPECT_THAT(uncopied.problem(), HasSubstr("wrong result"));
  EXPECT_EQ(uncopied.problem(true), "");
}

TEST(Verify, FindsAveragesThatAreNotDividedOnce) {
  Broken never(grid_of({4}), {{"ring"}});
  never.step(1, StepKind::kExchange, 2).completes = false;
  EXPECT_THAT(never.problem(), HasSubstr("not completed exactly once"));
  Broken twice(grid_of({4}), {{"ring"}});
  twice.step(1, StepKind::kExchange, 1).completes = true;
  EXPECT_THAT(twice.problem(), HasSubstr("not completed exactly once"));
}

TEST(Verify, FindsMemoryOfAnotherHost) {
  Broken plans(grid_of({2, 2}, 1), {{"direct", "ring"}});
  plans.step(0, StepKind::kReadMapped).receive_from = 2;
  EXPECT_THAT(plans.problem(), HasSubstr("on another host"));
}

TEST(Verify, FindsRangesOutsideTheLane) {
  Broken plans(grid_of({2}, 1), {{"direct"}, 2});
  plans.step(0, StepKind::kReduceMapped).source.begin += 32;
  EXPECT_THAT(plans.problem(), HasSubstr("whose lane has"));
}

TEST(Verify, FindsGroupsThatDiffer) {
  Broken plans(grid_of({2}, 1), {{"direct"}});
  plans.plan(1).groups[0] = {1, 0};
  EXPECT_THAT(plans.problem(), HasSubstr("list other groups"));
}

TEST(Verify, FindsReductionsOutOfOrder) {
  const auto grid = grid_of({3}, 1);
  Request request;
  request.count = 10;
  request.reproducible = true;
  std::vector<Plan> plans;
  for (int r = 0; r < 3; ++r) {
    plans.push_back(build(grid, request, {{"direct"}}, r));
    plans.back().groups[0] = {0, 2, 1};
  }
  EXPECT_THAT(verify(grid, {request}, plans).problem, HasSubstr("in rank order"));
}

TEST(Verify, FindsABarrierLeftTooEarly) {
  for (const int missing : {0, 1, 2}) {
    Request request;
    request.collective = Collective::kBarrier;
    std::vector<Plan> plans;
    for (int r = 0; r < 5; ++r) {
      plans.push_back(build(grid_of({5}), request, {{"dissemination"}}, r));
      auto& steps = plans.back().lanes[0].steps;
      steps.erase(steps.begin() + missing);
    }
    EXPECT_THAT(verify(grid_of({5}), {request}, plans).problem, HasSubstr("leaves the barrier"));
  }
}

TEST(Verify, FindsAnInputThatWasOverwritten) {
  Broken plans(grid_of({2}), {{"ring"}});
  plans.steps(0).push_back(plans.step(0, StepKind::kCopy));
  std::swap(plans.steps(0).back().source, plans.steps(0).back().target);
  EXPECT_THAT(plans.problem(), HasSubstr("was overwritten"));
}

}  // namespace
}  // namespace tutti::plan
