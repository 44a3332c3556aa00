// Records the trace of a training step.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tutti/lms/pager/pager.h"
#include "tutti/lms/trace.h"

namespace tutti::lms {

// A trace together with the blocks it was recorded from.
struct RecordedStep {
  Trace trace;
  std::vector<BlockRef> refs;  // by block of the trace
};

// Not thread-safe. Times are seconds of any clock.
//
// Blocks that exist at the start of the step get their index by first use, which is the same in every step of a graph.
// Blocks that other threads allocate (`is_counted` false) get no index at allocation, because their order is not
// deterministic. Once used, they are treated as blocks that existed at the start.
class StepRecorder {
 public:
  void begin_step(double time);
  // Ordinal of the allocation within the step; -1: not counted.
  int allocate(BlockRef ref, std::int64_t bytes, bool is_counted);
  void free(BlockRef ref);
  // True if the block was allocated and not freed.
  bool contains(BlockRef ref) const { return live_.contains(ref); }
  void begin_operator(std::string_view name, Phase phase, std::uint64_t shapes, double time);
  // Record that the running operator uses a block, or also modifies it.
  void use(BlockRef ref);
  void modify(BlockRef ref);
  // Returns the present contents of blocks, as inputs of a recipe; empty if a block is unknown.
  std::optional<std::vector<Recipe::Input>> contents_of(std::span<const BlockRef> refs);
  // Records that the running operator stored a content in `output` that can be recomputed from `inputs`. Returns the
  // index of the recipe; -1: none, because `output` has not been allocated in this step.
  int add_recipe(BlockRef output, std::vector<Recipe::Input> inputs);
  void end_operator(double time);
  RecordedStep finish_step(double time);

  // All blocks that exist.
  std::vector<BlockRef> live() const;
  // Operators that have started in this step.
  int operator_count() const { return static_cast<int>(operators_.size()); }
  bool is_in_operator() const { return is_in_operator_; }
  std::uint64_t hash() const { return hash_; }

 private:
  static constexpr int kUnused = -1;
  struct Live {
    std::int64_t bytes;
    int recipe = -1;  // of the present content
    int index =
        kUnused;  // kUnused; >= 0: allocated in the step; < kUnused: persistent, -2 - position
  };
  struct RefHash {
    std::size_t operator()(const BlockRef& ref) const {
      return std::hash<const void*>()(ref.block) ^ ref.serial * 0x9e3779b97f4a7c15ULL;
    }
  };
  void add_event(EventKind kind, const Live& block);
  int persistent_index(BlockRef ref, Live& block);

  std::unordered_map<BlockRef, Live, RefHash> live_;
  std::vector<std::pair<BlockRef, std::int64_t>> persistent_,
      allocated_;  // of this step, with bytes
  std::vector<Operator> operators_;
  std::vector<Recipe> recipes_;
  std::vector<MemoryEvent> events_;  // since the last operator
  bool is_in_operator_ = false;
  double step_start_ = 0;
  std::uint64_t hash_ = kHashSeed;
};

}  // namespace tutti::lms
