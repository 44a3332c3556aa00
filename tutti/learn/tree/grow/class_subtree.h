// A subtree that one thread grows, of rows that weigh one each and belong to one of two classes:
// what there is to know of a row and of the sums of a bin takes half the memory then, and vectors
// can look at all columns of a node at once.
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
  static constexpr std::int64_t kMostRows = 65535;  // counted in 16 bits

  // Whether the subtree below `root` can be grown here.
  static bool suits(const Growth<NarrowRecord>& growth, const GrownNode& root);
  explicit ClassSubtree(const Growth<NarrowRecord>& growth);

  // Grows what lies below nodes[0], which has a split. `histogram` is its own, or
  // nullptr. The records are read, not partitioned: nobody asks for those of leaves.
  void grow(std::vector<GrownNode>& nodes, const std::uint64_t* histogram);

 private:
  using Words = std::vector<std::uint32_t>;  // see class_kernel.h
  struct Open {
    std::int32_t index = 0;
    Words words;
    int side = 0;  // which of the two lists its rows are in
  };
  // A row of the copy in the lower 16 bits, and its class in the next.
  using Entry = std::uint32_t;

  void gather(std::span<const NarrowRecord> records);
  void add_rows(std::span<const Entry> rows, Words& words) const;
  void expand(std::vector<GrownNode>& nodes, Open parent, std::vector<Open>& open);
  NodeSums left_sums(const Split& split, const Words& words) const;
  // The rows of `node` go over to the other list, those that go left first.
  void part(const GrownNode& node, int side);
  std::span<Entry> rows_of(const GrownNode& node, int side);
  // Looks for the split of a node; first takes `less` away from its words, unless it is nullptr.
  void search(GrownNode& node, Words& words, const Words* less);
  void try_column(GrownNode& node, int column, const Words& words) const;
  Words take();
  void give(Words words) { free_.push_back(std::move(words)); }

  const Growth<NarrowRecord>& growth_;
  int lanes_;
  std::int64_t begin_ = 0;  // of the records of the subtree
  std::optional<BinnedData> copy_;
  std::vector<Entry> entries_[2];
  std::vector<Words> free_;
};

}  // namespace tutti::learn::tree
