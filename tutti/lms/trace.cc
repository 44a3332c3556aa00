#include "tutti/lms/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tutti/core/error.h"

namespace tutti::lms {
namespace {

constexpr std::uint64_t kHashPrime = 1099511628211ULL;

std::uint64_t hash_byte(std::uint64_t hash, unsigned char byte) {
  return (hash ^ byte) * kHashPrime;
}

[[noreturn]] void throw_invalid(const std::string& message) {
  throw ConfigError("DDL-5-61", fmt::format("Invalid memory trace: {}. Record it again.", message));
}

// Existence of every block while a trace is replayed.
class BlockStates {
 public:
  explicit BlockStates(const Trace& trace) : states_(trace.blocks.size(), State::kNew) {
    for (std::size_t block = 0; block < states_.size(); ++block) {
      if (trace.blocks[block].is_persistent) states_[block] = State::kExists;
    }
  }

  void apply(const std::vector<MemoryEvent>& events, const std::string& where) {
    for (const MemoryEvent& event : events) {
      State& state = find(event.block, where);
      const bool is_allocation = event.kind == EventKind::kAllocate;
      if (state != (is_allocation ? State::kNew : State::kExists)) {
        throw_invalid(fmt::format("{} block {}, which {}",
                                  where + (is_allocation ? " allocates" : " frees"), event.block,
                                  is_allocation ? "has been allocated before" : "does not exist"));
      }
      state = is_allocation ? State::kExists : State::kFreed;
    }
  }

  void use(int block, const std::string& where) {
    if (find(block, where) != State::kExists) {
      throw_invalid(fmt::format("{} uses block {}, which does not exist", where, block));
    }
  }

 private:
  enum class State : unsigned char { kNew, kExists, kFreed };

  State& find(int block, const std::string& where) {
    if (block < 0 || static_cast<std::size_t>(block) >= states_.size()) {
      throw_invalid(fmt::format("{} names block {} of {}", where, block, states_.size()));
    }
    return states_[static_cast<std::size_t>(block)];
  }

  std::vector<State> states_;
};

void validate_blocks(const Trace& trace) {
  bool is_persistent = true;
  for (std::size_t index = 0; index < trace.blocks.size(); ++index) {
    const Block& block = trace.blocks[index];
    if (block.bytes <= 0) throw_invalid(fmt::format("block {} has {} bytes", index, block.bytes));
    if (block.stored_bytes < 0) {
      throw_invalid(fmt::format("block {} has {} stored bytes", index, block.stored_bytes));
    }
    if (block.is_persistent && !is_persistent) {
      throw_invalid(fmt::format("persistent block {} follows one that is not", index));
    }
    is_persistent = block.is_persistent;
  }
}

void validate_recipes(const Trace& trace) {
  const auto blocks = static_cast<int>(trace.blocks.size());
  const auto is_block = [&](int block) { return block >= 0 && block < blocks; };
  int op = 0;
  for (std::size_t index = 0; index < trace.recipes.size(); ++index) {
    const Recipe& recipe = trace.recipes[index];
    bool is_valid = is_block(recipe.block) && recipe.op >= op &&
                    recipe.op < static_cast<int>(trace.operators.size());
    for (const Recipe::Input& input : recipe.inputs) {
      is_valid &= is_block(input.block) && input.recipe >= -1 &&
                  input.recipe < static_cast<int>(index) &&
                  (input.recipe < 0 ||
                   trace.recipes[static_cast<std::size_t>(input.recipe)].block == input.block);
    }
    if (!is_valid) throw_invalid(fmt::format("recipe {} is inconsistent", index));
    op = recipe.op;
  }
}

}  // namespace

std::uint64_t extend_hash(std::uint64_t hash, std::string_view text) {
  for (const char letter : text) hash = hash_byte(hash, static_cast<unsigned char>(letter));
  return hash_byte(hash, 0);
}

std::uint64_t extend_hash(std::uint64_t hash, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) {
    hash = hash_byte(hash, static_cast<unsigned char>(number >> shift));
  }
  return hash;
}

void validate(const Trace& trace) {
  validate_blocks(trace);
  BlockStates states(trace);
  double time = 0;
  for (std::size_t index = 0; index < trace.operators.size(); ++index) {
    const Operator& op = trace.operators[index];
    const std::string where = fmt::format("operator {} ({})", index, op.name);
    if (!(op.start >= time) || !(op.end >= op.start))
      throw_invalid(where + " starts or ends too early");
    time = op.end;
    states.apply(op.events_before, "before " + where + " the step");
    for (const int block : op.uses) states.use(block, where);
    if (!std::is_sorted(op.uses.begin(), op.uses.end()) ||
        !std::includes(op.uses.begin(), op.uses.end(), op.modifies.begin(), op.modifies.end())) {
      throw_invalid(where + " has unsorted uses, or modifies a block that it does not use");
    }
    states.apply(op.events, where);
  }
  if (!(trace.duration >= time)) throw_invalid("the step ends before its last operator");
  states.apply(trace.events_after, "the end of the step");
  validate_recipes(trace);
}

}  // namespace tutti::lms
