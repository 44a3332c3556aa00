// Executes a plan at operator boundaries.
//
// Before operator i, the executor waits for the writes whose memory must be free (`free_by`) and starts reads
// (`read_before`). If the budget has no space for a read, it is retried before the next operators. The executor then
// waits for the blocks that operator i needs (`next_use`). After operator i it starts writes (`write_after`) and sets
// the next use of the blocks, which determines the order of eviction. The plan applies as long as operators and
// allocations are those of its trace. After the first difference, the rest of the step is passive.
//
// Recomputation. While the step runs, the executor records the operator calls that the recompute chains of the plan
// contain. A block with such a call is dropped instead of written, and restored before operator `next_use`. Until a
// recipe is verified, its block is swapped, and the result of the call is compared with the content: only calls whose
// result is bitwise identical are used. Encodings are chosen by sampling the contents in the first step of a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tutti/lms/hooks/recomputer.h"
#include "tutti/lms/hooks/step_recorder.h"
#include "tutti/lms/pager/pager.h"
#include "tutti/lms/plan.h"
#include "tutti/lms/planner.h"

namespace tutti::lms {

class OperatorCall;
using ProducerOf = std::function<std::shared_ptr<const OperatorCall>(std::size_t n)>;

// A plan with its trace. `step.refs` are the blocks of the last step with this plan.
struct PlannedStep {
  RecordedStep step;
  Plan plan;
  std::set<int> verified = {};  // recipes whose calls reproduced the content
  bool is_sampled = false;      // encodings of the blocks were chosen
};

// Observations of one step about its plan.
struct Findings {
  std::vector<int> verified, failed;  // recipes
  std::map<int, Encoding> encodings;  // by block
  std::vector<Lateness> lateness;     // of planned reads
};

// The call of an operator, with the calls that produce those of its arguments that no longer exist.
using MakeCall = std::function<std::shared_ptr<const OperatorCall>(const ProducerOf&)>;

// Not thread-safe, except for the pager.
class PlanExecutor {
 public:
  // `compacts`: choose lossless encodings for blocks that are swapped.
  PlanExecutor(Pager& pager, Recomputer& recomputer, bool compacts)
      : pager_(pager), recomputer_(recomputer), compacts_(compacts) {}

  // Starts a step. nullptr: passive. `planned` must stay valid until the next begin_step.
  void begin_step(PlannedStep* planned, bool moves_persistent);
  bool is_active() const { return planned_ != nullptr; }

  // The block of the n-th counted allocation of the step.
  void bind(int ordinal, BlockRef ref, std::int64_t bytes);
  void before_operator(int index);
  // `hash`: of the recorder after the operator.
  void after_operator(int index, std::uint64_t hash);

  // Records that the running operator has stored a content that it can compute again. `recipe`: index in the step.
  void add_call(int recipe, const MakeCall& make_call);

  // Findings of the current step.
  const Findings& findings() const { return findings_; }

 private:
  struct Triggers {  // by operator; positions in the decisions of the plan
    std::vector<int> free, read, need, write, recompute;
    std::vector<std::pair<int, std::int64_t>> next_uses;  // block, time
  };

  // A recipe that chains of the plan use.
  struct Call {
    std::set<std::size_t> produced;  // inputs that other calls of the chain produce
    int users = 0;                   // calls and decisions that still need it
    std::shared_ptr<const OperatorCall> call;
  };

  BlockRef ref_of(int decision) const;
  void add_chains();
  bool is_dropped(int decision) const;
  void leave(int decision);
  Encoding encoding_of(int decision) const;
  void sample(int block);
  void recompute(int decision);
  std::shared_ptr<const OperatorCall> take_call(int recipe);
  void add_next_uses(bool moves_persistent);

  Pager& pager_;
  Recomputer& recomputer_;
  const bool compacts_;
  PlannedStep* planned_ = nullptr;
  std::map<int, Call> calls_;                                      // by recipe
  std::map<int, int> recipe_of_;                                   // by decision
  std::map<int, std::shared_ptr<const OperatorCall>> unverified_;  // by decision
  Findings findings_;
  std::vector<Triggers> triggers_;
  std::vector<int> delayed_;  // decisions whose read had no space
  int persistents_ = 0;
};

}  // namespace tutti::lms
