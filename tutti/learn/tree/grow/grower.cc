#include "tutti/learn/tree/grow/grower.h"

#include "tutti/learn/tree/grow/grow_policy.h"
#include "tutti/learn/tree/grow/node_expander.h"

namespace tutti::learn::tree {

template <class Record>
std::vector<GrownNode> grow(const Growth<Record>& growth, Threads& threads) {
  NodeExpander<Record> work(growth, threads.count() > 1 ? &threads : nullptr);
  if (growth.source != nullptr && !work.reads_classes())
    fill(*growth.source, growth.data.rows(), threads, growth.records);
  growth.scratch.resize(growth.records.size);
  return grow_in_order(
      work, [&] { return NodeExpander<Record>(growth, nullptr); }, growth.options.max_leaves,
      growth.communicator != nullptr, threads);
}
template std::vector<GrownNode> grow(const Growth<NarrowRecord>&, Threads&);
template std::vector<GrownNode> grow(const Growth<WideRecord>&, Threads&);

}  // namespace tutti::learn::tree
