// Growth of a subtree by one thread for two classes and unit sample weights. Records and histogram bins then take half
// the memory, and vector code screens all columns of a node at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tutti/learn/tree/grow/growth.h"

namespace tutti::learn::tree {

class ClassSubtree {
 public:
  static constexpr std::int64_t kMaxRows = 65535;  // limited by 16-bit counters

  // Whether the subtree below `root` can be grown by this class.
  static bool suits(const Growth<NarrowRecord>& growth, const GrownNode& root);
  explicit ClassSubtree(const Growth<NarrowRecord>& growth);

  // Grows the subtree below nodes[0], which has a split. `histogram` is that of nodes[0], or nullptr. The records are
  // read but not partitioned; records of the leaves are not needed.
  void grow(std::vector<GrownNode>& nodes, const std::uint64_t* histogram);

 private:
  using Words = std::vector<std::uint32_t>;  // packed sums, see class_kernel.h
  struct Open {
    std::int32_t index = 0;
    Words words;
    int side = 0;  // index of the list that contains its rows
  };
  // Row in the copy in the lower 16 bits, class in bit 16.
  using Entry = std::uint32_t;

  void gather(std::span<const NarrowRecord> records);
  void add_rows(std::span<const Entry> rows, Words& words) const;
  void expand(std::vector<GrownNode>& nodes, Open parent, std::vector<Open>& open);
  NodeSums left_sums(const Split& split, const Words& words) const;
  // Partitions the rows of `node` into the other list, left ones first.
  void partition(const GrownNode& node, int side);
  std::span<Entry> rows_of(const GrownNode& node, int side);
  // Searches the best split of a node. First subtracts `less` from `words`, unless it is nullptr.
  void search(GrownNode& node, Words& words, const Words* less);
  void try_column(GrownNode& node, int column, const Words& words) const;
  Words take();
  void give(Words words) { free_.push_back(std::move(words)); }

  const Growth<NarrowRecord>& growth_;
  int lanes_;
  std::int64_t begin_ = 0;  // first record of the subtree
  std::optional<BinnedData> copy_;
  std::vector<Entry> entries_[2];
  std::vector<Words> free_;
};

}  // namespace tutti::learn::tree
