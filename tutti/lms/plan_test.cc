#include "tutti/lms/plan.h"

#include <gmock/gmock.h>

#include "tutti/core/error.h"
#include "tutti/lms/test_traces.h"

namespace tutti::lms {
namespace {

using testing::HasSubstr;

// Chain of three layers: forward 0 to 2, backward 3 to 5, optimizer 6. Block 1 is idle from operator 1 to 5.
Plan valid_plan(const Trace& trace) {
  Plan plan;
  plan.hash = trace.hash();
  plan.budget = 5000;
  plan.decisions = {
      {.block = 1, .last_use = 1, .write_after = 1, .free_by = 3, .read_before = 4, .next_use = 5}};
  return plan;
}

std::string error_of(const Plan& plan, const Trace& trace) {
  try {
    validate(plan, trace);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(PlanTest, JsonRoundTripKeepsAllFields) {
  Plan plan = valid_plan(chain_trace(3, 1000, 1));
  plan.decisions.push_back({.block = 4,
                            .action = Action::kRecompute,
                            .last_use = 5,
                            .write_after = 6,
                            .free_by = 7,
                            .read_before = 8,
                            .next_use = 9,
                            .is_needed = false,
                            .is_clean = true,
                            .codec = Codec::kNarrowInt64});
  EXPECT_EQ(plan_from_json(to_json(plan)), plan);
  EXPECT_EQ(plan_from_json(to_json(Plan{})), Plan{});
}

TEST(PlanTest, ValidatesAgainstTheTrace) {
  const Trace trace = chain_trace(3, 1000, 1);
  const Plan valid = valid_plan(trace);
  EXPECT_EQ(error_of(valid, trace), "");
  EXPECT_THAT(error_of(valid, chain_trace(4, 1000, 1)), HasSubstr("another trace"));
  Plan plan = valid;
  plan.decisions[0].block = 99;
  EXPECT_THAT(error_of(plan, trace), HasSubstr("no such block"));
  plan = valid;
  plan.decisions[0].free_by = 5;
  EXPECT_THAT(error_of(plan, trace), HasSubstr("ascending"));
  plan = valid;
  plan.decisions[0].block = 2;
  EXPECT_THAT(error_of(plan, trace), HasSubstr("not an idle interval"));
  plan = valid;
  plan.decisions[0].is_needed = false;
  EXPECT_THAT(error_of(plan, trace), HasSubstr("not an idle interval"));
}

TEST(PlanTest, RejectsMalformedText) {
  EXPECT_THROW(plan_from_json("[]"), ConfigError);
  EXPECT_THROW(plan_from_json(R"({"version": 1, "hash": 0, "budget": 0, "decisions": [
      {"block": 0, "action": "delete", "last_use": 0, "write_after": 0, "free_by": 1, "read_before": 1,
       "next_use": 2}]})"),
               ConfigError);
}

}  // namespace
}  // namespace tutti::lms
