// All-reduce among the ranks of one host in a single step: three protocols in shared memory.
//
// n ranks, S bytes each. At the start each rank holds its vector, at the end the reduction over all ranks. All
// protocols reduce in rank order in a single pass, so the result does not depend on the protocol.
//
// - host_eager: small vectors. Each rank copies its vector to its slot in shared memory, waits for the slots of the
//   others and reduces all of them itself. One wait; each rank reads and writes (n + 3) S bytes: 2 S to publish its
//   vector, n S to reduce, S for the result.
// - host_direct: all vectors are in library-allocated memory, which every rank maps. Ranks publish the addresses of
//   their vectors and wait for each other. Rank i owns slice i: it reduces the slice from all n vectors and stores the
//   result into all of them. Early ranks take pieces of the slices of late ranks (work stealing). A second wait
//   completes the operation. Two waits; each rank reads and writes 2 S bytes, 2 n S in total, which is optimal. If any
//   vector is caller-allocated, all ranks use host_eager (up to 8 KiB) or host_staged instead.
// - host_staged: any memory, in rounds of `stage_bytes`. In each round a rank copies the slices that others own to its
//   stage in shared memory, reduces its own slice from all stages into its output and its stage, and copies the other
//   slices from the stages of their owners. Two waits per round; each rank reads and writes (5 - 2/n) S bytes. The
//   stages stay in the cache, so main-memory traffic is little more than the 2 S of host_direct.
#include <algorithm>
#include <cmath>

#include "tutti/plan/algorithms/table.h"

namespace tutti::plan {
namespace {

// Largest message for which host_direct falls back to host_eager. Up to this size one wait fewer saves more than
// reducing only one slice.
constexpr std::size_t kMostEagerFallback = 8 * 1024;
static_assert(kMostEagerFallback <= kMaxSlotBytes);

bool host_supports(Collective collective, const Shape& shape) {
  return collective == Collective::kAllReduce && shape.mapped && shape.is_whole;
}

bool eager_supports(Collective collective, const Shape& shape) {
  return host_supports(collective, shape) && shape.bytes <= kMaxSlotBytes;
}

Cost host_eager_cost(Collective, int ranks, double bytes, int) {
  return {1, (ranks + 3) * bytes};
}

Cost host_direct_cost(Collective, int, double bytes, int) {
  return {2, 2 * bytes};
}

Cost host_staged_cost(Collective, int ranks, double bytes, int) {
  const double rounds = std::ceil(bytes / static_cast<double>(stage_bytes(ranks)));
  return {2 * std::max(1.0, rounds), (5 - 2.0 / ranks) * bytes};
}

void build_host_eager(Builder& builder, const SubgroupTask& task) {
  builder.host_all_reduce(task.subgroup, task.range, HostProtocol::kEager, HostProtocol::kEager);
}

void build_host_direct(Builder& builder, const SubgroupTask& task) {
  const auto bytes = static_cast<std::size_t>(task.range.count) * task.request.element_bytes;
  builder.host_all_reduce(
      task.subgroup, task.range, HostProtocol::kDirect,
      bytes <= kMostEagerFallback ? HostProtocol::kEager : HostProtocol::kStaged);
}

void build_host_staged(Builder& builder, const SubgroupTask& task) {
  builder.host_all_reduce(task.subgroup, task.range, HostProtocol::kStaged, HostProtocol::kStaged);
}

}  // namespace

Algorithm host_eager() {
  return {.name = "host_eager",
          .description =
              "one host, small vectors: each rank reduces all vectors from slots in shared memory",
          .supports = eager_supports,
          .cost = host_eager_cost,
          .build = build_host_eager,
          .is_mapped = true,
          .is_one_step = true};
}

Algorithm host_direct() {
  return {.name = "host_direct",
          .description =
              "one host: as direct, with early ranks helping late ones; other memory is staged",
          .supports = host_supports,
          .cost = host_direct_cost,
          .build = build_host_direct,
          .is_mapped = true,
          .is_one_step = true};
}

Algorithm host_staged() {
  return {.name = "host_staged",
          .description =
              "one host, any memory: slices pass through shared memory in rounds that stay in the "
              "cache",
          .supports = host_supports,
          .cost = host_staged_cost,
          .build = build_host_staged,
          .is_mapped = true,
          .is_one_step = true};
}

}  // namespace tutti::plan
