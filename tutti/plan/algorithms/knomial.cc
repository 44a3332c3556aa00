// K-nomial tree (radix k = 4): one root, few rounds, unsplit messages.
//
// Ranks are numbered by their distance v from the root, written in base k. The parent of v is v with its lowest
// non-zero digit set to 0, so the subtree of v is v .. v + k^m - 1, where m is the number of trailing zero digits of v.
//
// - broadcast. At the start the root holds the vector. Each rank receives it from its parent and sends it to its
//   children, largest subtree first: ceil(log_k n) rounds of at most k-1 sends.
// - reduce. The reverse: each rank reduces the vectors of its children into its own and sends the result to its parent.
// - all_reduce. reduce to the first rank, then broadcast.
// - gather. Each rank collects the pieces of its subtree, its own first, and forwards them to its parent. A piece
//   crosses at most depth-of-the-tree links; the root receives (n-1)/n S bytes.
// - scatter. The reverse of gather.
#include <algorithm>

#include "tutti/plan/algorithms/table.h"

namespace tutti::plan {
namespace {

constexpr int kRadix = 4;

bool knomial_supports(Collective collective, const Shape& shape) {
  switch (collective) {
    case Collective::kBroadcast:
    case Collective::kGather:
    case Collective::kScatter: return true;
    case Collective::kAllReduce:
    case Collective::kReduce: return !shape.reproducible;
    default: return false;
  }
}

Cost knomial_cost(Collective collective, int ranks, double bytes, int) {
  double rounds = 0;
  for (int reach = 1; reach < ranks; reach *= kRadix) ++rounds;
  const double steps = rounds * (std::min(kRadix, ranks) - 1);
  switch (collective) {
    case Collective::kGather:
    case Collective::kScatter: return {steps, bytes * (ranks - 1) / ranks};
    case Collective::kAllReduce: return {2 * steps, 2 * steps * bytes};
    default: return {steps, steps * bytes};
  }
}

// The tree from the point of view of rank `v`. All numbers are distances from the root.
struct Node {
  int v;
  int end;  // end of the subtree of v
  int parent = -1;
  std::vector<int> children;  // largest subtree first

  Node(int v_, int size) : v(v_) {
    int reach = 1;
    while (reach < size && v % (reach * kRadix) == 0) reach *= kRadix;
    end = std::min(v + reach, size);
    if (v > 0) parent = v - v % (reach * kRadix);
    for (reach /= kRadix; reach >= 1; reach /= kRadix) {
      for (int j = 1; j < kRadix && v + j * reach < size; ++j) children.push_back(v + j * reach);
    }
  }
  // End of the subtree of a child.
  int end_of(int child, int size) const { return Node(child, size).end; }
};

struct KnomialTree {
  Builder& builder;
  const Subgroup& subgroup;
  int root;
  Node node{subgroup.wrap(subgroup.index - root), subgroup.size()};

  int rank(int v) const { return subgroup.ranks[subgroup.wrap(root + v)]; }
  bool is_root() const { return node.parent < 0; }

  void broadcast(const Range& range) const {
    if (!is_root()) builder.receive(subgroup, rank(node.parent), range);
    for (const int child : node.children) builder.send(subgroup, rank(child), range);
  }
  void reduce(const Range& range, bool completes) const {
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
      const bool is_last = child + 1 == node.children.rend();
      builder.receive(subgroup, rank(*child), range,
                      {.reduce = true, .completes = completes && is_root() && is_last});
    }
    if (!is_root()) builder.send(subgroup, rank(node.parent), range);
  }
};

// Buffers for gather and scatter. The root's buffer holds the pieces in rank order. Other ranks store the pieces of
// their subtree consecutively, ordered by v. A message is one run of the root's buffer, so both ends split the data the
// same way.
class Subtree {
 public:
  Subtree(const KnomialTree& tree, const Request& request, Space whole) : tree_(tree) {
    std::vector<std::int64_t> offsets{0};
    for (const std::int64_t count : request.counts) offsets.push_back(offsets.back() + count);
    for (int v = 0; v < tree.subgroup.size(); ++v) {
      pieces_.add_piece();
      pieces_.append({whole, offsets[tree.rank(v)], request.counts[tree.rank(v)]});
    }
    if (tree.is_root()) return;
    kept_ = {whole == Space::kOutput ? Space::kInput : Space::kOutput, 0,
             pieces_.count(tree.node.v)};
    if (!tree.node.children.empty())
      kept_ = tree.builder.scratch(count(tree.node.v, tree.node.end));
  }
  // Location of the pieces first..last-1 on this rank, one range per message.
  std::vector<Range> at(int first, int last) const {
    std::vector<Range> runs = pieces_.runs(first, last);
    if (tree_.is_root()) return runs;
    std::int64_t begin = kept_.begin + count(tree_.node.v, first);
    for (Range& run : runs) {
      run = {kept_.space, begin, run.count};
      begin += run.count;
    }
    return runs;
  }
  std::vector<Range> of_child(int child) const {
    return at(child, tree_.node.end_of(child, tree_.subgroup.size()));
  }
  std::vector<Range> all() const { return at(tree_.node.v, tree_.node.end); }
  Range mine() const {
    const auto runs = at(tree_.node.v, tree_.node.v + 1);
    return runs.empty() ? Range{} : runs.front();
  }

 private:
  std::int64_t count(int first, int last) const {
    std::int64_t sum = 0;
    for (int v = first; v < last; ++v) sum += pieces_.count(v);
    return sum;
  }
  const KnomialTree& tree_;
  Pieces pieces_;
  Range kept_;
};

void gather(const KnomialTree& tree, const Request& request) {
  const Subtree subtree(tree, request, Space::kOutput);
  const Range mine = subtree.mine();
  if (mine.space != Space::kInput) tree.builder.copy({Space::kInput, 0, mine.count}, mine);
  for (auto child = tree.node.children.rbegin(); child != tree.node.children.rend(); ++child) {
    tree.builder.exchange(tree.subgroup, -1, {}, tree.rank(*child), subtree.of_child(*child));
  }
  if (!tree.is_root()) {
    tree.builder.exchange(tree.subgroup, tree.rank(tree.node.parent), subtree.all(), -1, {});
  }
}

void scatter(const KnomialTree& tree, const Request& request) {
  const Subtree subtree(tree, request, Space::kInput);
  if (!tree.is_root()) {
    tree.builder.exchange(tree.subgroup, -1, {}, tree.rank(tree.node.parent), subtree.all());
  }
  for (const int child : tree.node.children) {
    tree.builder.exchange(tree.subgroup, tree.rank(child), subtree.of_child(child), -1, {});
  }
  const Range mine = subtree.mine();
  if (mine.space != Space::kOutput) tree.builder.copy(mine, {Space::kOutput, 0, mine.count});
}

void build_knomial(Builder& builder, const SubgroupTask& task) {
  const KnomialTree tree{builder, task.subgroup, task.root};
  switch (task.collective) {
    case Collective::kBroadcast: return tree.broadcast(task.range);
    case Collective::kReduce: return tree.reduce(task.range, task.completes);
    case Collective::kGather: return gather(tree, task.request);
    case Collective::kScatter: return scatter(tree, task.request);
    default: tree.reduce(task.range, task.completes); return tree.broadcast(task.range);
  }
}

}  // namespace

Algorithm knomial() {
  return {"knomial",    "one tree of radix 4, whole messages; few rounds, one root",
          "",           knomial_supports,
          knomial_cost, build_knomial};
}

}  // namespace tutti::plan
