#include "tutti/lms/recompute.h"

#include <algorithm>
#include <cstddef>

namespace tutti::lms {
namespace {

// Longer chains are rarely faster than the disk.
constexpr std::size_t kLongestChain = 6;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

bool contains(const std::vector<int>& values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

RecomputeRules::RecomputeRules(const Trace& trace, const std::vector<Lifetime>& lifetimes)
    : trace_(trace),
      lifetimes_(lifetimes),
      modified_(trace.blocks.size()),
      recipes_(trace.blocks.size()) {
  for (std::size_t op = 0; op < trace.operators.size(); ++op)
    for (const int block : trace.operators[op].modifies)
      modified_[at(block)].push_back(static_cast<int>(op));
  for (std::size_t index = 0; index < trace.recipes.size(); ++index)
    recipes_[at(trace.recipes[index].block)].push_back(static_cast<int>(index));
}

// Returns true if an operator in [after, before) modifies the block.
bool RecomputeRules::is_modified(int block, int after, int before) const {
  const auto& operators = modified_[at(block)];
  const auto next = std::lower_bound(operators.begin(), operators.end(), after);
  return next != operators.end() && *next < before;
}

std::optional<RecomputeChain> RecomputeRules::chain(int block, int next_use) const {
  if (next_use >= static_cast<int>(trace_.operators.size())) return {};
  int last = -1;
  for (const int recipe : recipes_[at(block)])
    if (trace_.recipes[at(recipe)].op < next_use) last = recipe;
  if (last < 0 || !trace_.recipes[at(last)].is_final) return {};
  if (is_modified(block, trace_.recipes[at(last)].op + 1, next_use)) return {};
  RecomputeChain chain;
  if (!add(last, next_use, chain)) return {};
  std::sort(chain.inputs.begin(), chain.inputs.end());
  std::vector<int> operators;
  for (const int recipe : chain.recipes) {
    const int op = trace_.recipes[at(recipe)].op;
    if (contains(operators, op)) continue;
    operators.push_back(op);
    chain.seconds += trace_.operators[at(op)].end - trace_.operators[at(op)].start;
  }
  return chain;
}

// Appends a recipe after those of its inputs.
bool RecomputeRules::add(int index, int next_use, RecomputeChain& chain) const {
  if (contains(chain.recipes, index)) return true;
  const Recipe& recipe = trace_.recipes[at(index)];
  for (const Recipe::Input& input : recipe.inputs) {
    const bool exists = lifetimes_[at(input.block)].freed > next_use;
    if (exists && input.block != recipe.block && !is_modified(input.block, recipe.op, next_use)) {
      if (!contains(chain.inputs, input.block)) chain.inputs.push_back(input.block);
      continue;
    }
    if (input.recipe < 0 || !add(input.recipe, next_use, chain)) return false;
    chain.temporary_bytes += trace_.blocks[at(input.block)].bytes;
  }
  chain.recipes.push_back(index);
  return chain.recipes.size() <= kLongestChain;
}

}  // namespace tutti::lms
