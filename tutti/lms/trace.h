// Trace of one training step: operators in execution order, and the memory blocks they allocate, use and free.
//
// The tracker of `lms/hooks` records a trace; the planner and the simulator read it. Times are seconds since the start
// of the step. Operators and blocks are identified by their index in the trace, which is the same in every step while
// the graph is the same. A rolling hash over operator names, shapes and block sizes detects a changed graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::lms {

enum class Phase { kUnknown, kForward, kBackward, kOptimizer };

// Lossless encodings of the content of a block (codec.h).
enum class Codec { kNone, kZeroSuppressed, kBits, kNarrowInt64 };

// A block of the allocator with a separate address range. Smaller allocations are not listed; see Trace::small_bytes.
struct Block {
  std::int64_t bytes = 0;  // bytes that count against the budget
  // The block exists when the step starts: a parameter, gradient or optimizer state, or the input of the step.
  bool is_persistent = false;
  Codec codec = Codec::kNone;     // an encoding that reduces the size
  std::int64_t stored_bytes = 0;  // size in that encoding; 0: unknown, or no codec

  bool operator==(const Block&) const = default;
};

enum class EventKind { kAllocate, kFree };

struct MemoryEvent {
  EventKind kind = EventKind::kAllocate;
  int block = 0;

  bool operator==(const MemoryEvent&) const = default;
};

// An outermost libtorch operator. Blocks in `uses` are resident from start to end. Workspace appears as blocks that are
// allocated and freed in `events`.
struct Operator {
  std::string name;
  Phase phase = Phase::kUnknown;
  double start = 0, end = 0;  // seconds
  std::vector<MemoryEvent>
      events_before;  // between the end of the previous operator and the start of this one
  std::vector<MemoryEvent> events;  // while the operator runs
  std::vector<int> uses;  // blocks that exist at its start and that it reads or writes, ascending
  std::vector<int> modifies;  // the subset of `uses` that it may write, ascending
  std::uint64_t hash = 0;     // rolling hash of the step including this operator

  bool operator==(const Operator&) const = default;
};

// Content that operator `op` stores in `block` and that can be computed again, bitwise identical, from its inputs.
struct Recipe {
  struct Input {
    int block = 0;
    int recipe =
        -1;  // index of the recipe of its content at that time; -1: the content cannot be recomputed

    bool operator==(const Input&) const = default;
  };
  int block = 0;
  int op = 0;
  std::vector<Input> inputs = {};
  bool is_final = true;  // the block has this content when the operator ends

  bool operator==(const Recipe&) const = default;
};

// Persistent blocks come first in `blocks`, then the others in the order of their allocation.
struct Trace {
  std::vector<Block> blocks;
  std::vector<Operator> operators;
  std::vector<Recipe> recipes;            // ascending by operator
  std::vector<MemoryEvent> events_after;  // after the last operator
  double duration = 0;                    // seconds from start to end of the step
  std::int64_t small_bytes = 0;  // peak of allocations too small to be a block; always resident

  bool operator==(const Trace&) const = default;
  std::uint64_t hash() const { return operators.empty() ? 0 : operators.back().hash; }
};

// Initial value and update of the rolling hash (FNV-1a).
inline constexpr std::uint64_t kHashSeed = 14695981039346656037ULL;
std::uint64_t extend_hash(std::uint64_t hash, std::string_view text);
std::uint64_t extend_hash(std::uint64_t hash, std::uint64_t number);

// Throws ConfigError (DDL-5-61) if the trace contradicts itself: an index is out of range, a block is used or freed
// while it does not exist, allocated twice, times descend, or a recipe refers to a later one.
void validate(const Trace& trace);

// JSON text of a trace, and a trace from JSON text. from_json validates it and throws ConfigError (DDL-5-61) if the
// text is not a valid trace. Equal traces have equal texts.
std::string to_json(const Trace& trace);
Trace trace_from_json(std::string_view text);

std::string_view name_of(Phase phase);
std::string_view name_of(Codec codec);

}  // namespace tutti::lms
