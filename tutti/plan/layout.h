// Position of one rank in a hierarchical plan: the block of ranks that share mapped memory, and the subgroups that
// connect the blocks over the network.
//
// - A *block* is the set of ranks of the leading dimensions that `direct` covers (with uneven hosts: one host). Without
//   `direct`, each rank is a separate block.
// - A *rail* is the set of ranks with the same index in their blocks. It connects the blocks.
// - The blocks form a product of *axes*, fastest first.
#pragma once

#include <span>
#include <vector>

#include "tutti/plan/algorithms/table.h"
#include "tutti/plan/choice.h"
#include "tutti/topo/grid.h"

namespace tutti::plan {

struct Axis {
  int size = 1;
  int stride = 1;  // distance between neighbouring blocks along this axis
  int dimension = 0;
  const Algorithm* algorithm = nullptr;
};

class Layout {
 public:
  // Throws ConfigError if the choice names an unknown algorithm, or one that does not support this collective in its
  // position. `grid` must outlive the layout.
  Layout(const topo::Grid& grid, const Request& request, const Choice& choice, int rank);

  int block_count() const { return block_count_; }
  int block_of(int rank) const;
  std::span<const int> block(int index) const;

  // This rank: the index of its block, its index within the block, and whether it owns a rail.
  int block_index() const { return block_index_; }
  std::span<const int> my_block() const { return block(block_index_); }
  int index_in_block() const { return index_in_block_; }
  int rails() const { return rails_; }
  bool on_rail() const { return index_in_block_ < rails_; }

  const std::vector<Axis>& axes() const { return axes_; }
  // Algorithm of a layout with a single block that holds all ranks; nullptr if there are several blocks.
  const Algorithm* whole_row() const { return whole_row_; }
  // The subgroup of this rank's rail along one axis.
  Subgroup subgroup(const Axis& axis) const;
  // The ranks of this rank's block in rank order, which is the order of reductions.
  Subgroup block_subgroup() const;
  // The groups of all blocks on this rank's host.
  std::vector<std::vector<int>> groups() const;

 private:
  void split_into_blocks(int mapped_dimensions, bool in_rank_order);
  int smallest_block() const;
  void add_axes(Collective collective, const std::vector<const Algorithm*>& rows, int first);
  void add_axis(int size, int dimension, const Algorithm* algorithm);

  const topo::Grid& grid_;
  std::vector<int> order_;  // ranks, block by block
  int block_size_ = 1;      // 0: one block per host of any size
  int block_count_ = 1;
  int block_index_ = 0;
  int index_in_block_ = 0;
  int rails_ = 1;
  int rank_ = 0;
  std::vector<Axis> axes_;
  const Algorithm* whole_row_ = nullptr;
};

}  // namespace tutti::plan
