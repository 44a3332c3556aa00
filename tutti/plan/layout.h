// Where one rank stands when a grid is worked on by a choice of algorithms: the block of ranks that
// fold through mapped memory, and the lines that join the blocks over the network.
//
// A *block* is the ranks of the leading dimensions that `direct` covers (uneven hosts: the host);
// without direct every rank is a block of its own. A *rail* is the ranks with one place in
// their blocks: it joins the blocks. The blocks stand in a product of *axes*, fastest first.
#pragma once

#include <span>
#include <vector>

#include "tutti/plan/algorithms/table.h"
#include "tutti/plan/choice.h"
#include "tutti/topo/grid.h"

namespace tutti::plan {

struct Axis {
  int size = 1;
  int stride = 1;  // blocks from one to the next along this axis
  int dimension = 0;
  const Algorithm* algorithm = nullptr;
};

class Layout {
 public:
  // Throws ConfigError when the choice names an unknown algorithm, or one that cannot do this
  // collective in its place. `grid` must outlive the layout.
  Layout(const topo::Grid& grid, const Request& request, const Choice& choice, int rank);

  int block_count() const { return block_count_; }
  int block_of(int rank) const;
  std::span<const int> block(int index) const;

  // Mine: block, place in it, whether I own a rail.
  int block_index() const { return block_index_; }
  std::span<const int> my_block() const { return block(block_index_); }
  int place() const { return place_; }
  int rails() const { return rails_; }
  bool on_rail() const { return place_ < rails_; }

  const std::vector<Axis>& axes() const { return axes_; }
  // The row of one block that has all ranks; nullptr when there are several blocks.
  const Algorithm* whole_row() const { return whole_row_; }
  // My rail along one axis.
  Line line(const Axis& axis) const;
  // My block in the order of ranks, the order of folds.
  Line block_line() const;
  // Such groups of all blocks on my host.
  std::vector<std::vector<int>> groups() const;

 private:
  void cut_in_blocks(int mapped_dimensions, bool in_rank_order);
  int smallest_block() const;
  void add_axes(Collective collective, const std::vector<const Algorithm*>& rows, int first);
  void add_axis(int size, int dimension, const Algorithm* algorithm);

  const topo::Grid& grid_;
  std::vector<int> order_;  // ranks, block after block
  int block_size_ = 1;      // 0: as many as the host has
  int block_count_ = 1;
  int block_index_ = 0;
  int place_ = 0;
  int rails_ = 1;
  int rank_ = 0;
  std::vector<Axis> axes_;
  const Algorithm* whole_row_ = nullptr;
};

}  // namespace tutti::plan
