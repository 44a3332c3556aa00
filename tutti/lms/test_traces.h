// Small traces for tests.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tutti/lms/trace.h"

namespace tutti::lms {

// Appends blocks and operators to a trace. Each operator takes `seconds` and starts when the previous one ends.
class TraceBuilder {
 public:
  int persistent(std::int64_t bytes) {
    trace_.blocks.push_back({.bytes = bytes, .is_persistent = true});
    return last_block();
  }

  // Starts an operator; the calls that follow refer to it.
  TraceBuilder& run(std::string name, double seconds, Phase phase = Phase::kForward) {
    Operator op;
    op.name = std::move(name);
    op.phase = phase;
    op.start = trace_.duration;
    op.end = trace_.duration += seconds;
    op.events_before = std::exchange(pending_, {});
    op.hash = extend_hash(trace_.hash(), op.name);
    trace_.operators.push_back(std::move(op));
    return *this;
  }

  TraceBuilder& use(std::vector<int> blocks) {
    auto& uses = trace_.operators.back().uses;
    uses.insert(uses.end(), blocks.begin(), blocks.end());
    std::sort(uses.begin(), uses.end());
    return *this;
  }

  TraceBuilder& modify(int block) {
    trace_.operators.back().modifies.push_back(block);
    return use({block});
  }

  int allocate(std::int64_t bytes) {
    trace_.blocks.push_back({.bytes = bytes});
    trace_.operators.back().events.push_back({EventKind::kAllocate, last_block()});
    return last_block();
  }

  // Frees a block inside the current operator.
  TraceBuilder& free(int block) {
    trace_.operators.back().events.push_back({EventKind::kFree, block});
    return *this;
  }

  // Frees a block between the current operator and the next one.
  TraceBuilder& free_after(int block) {
    pending_.push_back({EventKind::kFree, block});
    return *this;
  }

  // The current operator can recompute `block` from `inputs`.
  TraceBuilder& recipe(int block, const std::vector<int>& inputs) {
    Recipe recipe{.block = block, .op = static_cast<int>(trace_.operators.size()) - 1};
    for (const int input : inputs) {
      int last = static_cast<int>(trace_.recipes.size()) - 1;
      while (last >= 0 && trace_.recipes[static_cast<std::size_t>(last)].block != input) --last;
      recipe.inputs.push_back({input, last});
    }
    trace_.recipes.push_back(std::move(recipe));
    return *this;
  }

  TraceBuilder& workspace(std::int64_t bytes) { return free(allocate(bytes)); }
  Block& block(int index) { return trace_.blocks[static_cast<std::size_t>(index)]; }

  Trace build() {
    trace_.events_after = std::exchange(pending_, {});
    return trace_;
  }

 private:
  int last_block() const { return static_cast<int>(trace_.blocks.size()) - 1; }

  Trace trace_;
  std::vector<MemoryEvent> pending_;
};

// A chain of `layers` layers, one weight for all. Each layer allocates an activation of `bytes`, which the backward
// pass needs in reverse order. Every operator takes `seconds`.
inline Trace chain_trace(int layers, std::int64_t bytes, double seconds) {
  TraceBuilder builder;
  const int weight = builder.persistent(bytes);
  std::vector<int> activations;
  for (int layer = 0; layer < layers; ++layer) {
    builder.run("conv", seconds).use({weight});
    if (layer > 0) builder.use({activations.back()});
    activations.push_back(builder.allocate(bytes));
    if (layer > 0)
      builder.recipe(activations.back(), {weight, activations[activations.size() - 2]});
    else
      builder.recipe(activations.back(), {weight});
  }
  int gradient = -1;
  for (int layer = layers - 1; layer >= 0; --layer) {
    const int activation = activations[static_cast<std::size_t>(layer)];
    builder.run("conv_backward", seconds, Phase::kBackward).use({weight, activation});
    if (gradient >= 0) builder.use({gradient});
    const int next = builder.allocate(bytes);
    if (gradient >= 0) builder.free_after(gradient);
    builder.free_after(activation);
    gradient = next;
  }
  builder.run("sgd", seconds, Phase::kOptimizer).modify(weight).use({gradient});
  builder.free_after(gradient);
  return builder.build();
}

}  // namespace tutti::lms
