#include "tutti/fusion/options.h"

namespace tutti::fusion {

const OptionTable& fusion_options() {
  static const OptionTable table = {
      {"bucket_bytes", OptionType::kBytes, "16MiB",
       "Largest bucket in bytes: tensors that are ready together are reduced together up to this "
       "size.",
       "TUTTI_BUCKET_BYTES", 1, 1099511627776.0},
      {"cycle_ms", OptionType::kFloat, "0",
       "Milliseconds that a bucket that is not full waits for more tensors; 0: only while others "
       "are in flight.",
       "TUTTI_CYCLE_MS", 0, 10000},
      {"window", OptionType::kInt, "2",
       "Buckets in flight at once; other tensors wait and are reordered by priority.",
       "TUTTI_WINDOW", 1, 64},
      {"radix", OptionType::kInt, "4", "Children of each rank in the tree of the negotiation.",
       "TUTTI_RADIX", 1, 1024},
      {"cache_entries", OptionType::kInt, "4096",
       "Tensors whose later negotiations need one bit (response cache); 0: no cache.",
       "TUTTI_CACHE_ENTRIES", 0, 1e6},
      {"autotune", OptionType::kBool, "0",
       "Search bucket_bytes and cycle_ms by measuring during training.", "TUTTI_AUTOTUNE"},
      {"timeline", OptionType::kText, "",
       "File for the timeline of all ranks, for Perfetto or chrome://tracing; empty: none.",
       "TUTTI_TIMELINE"},
  };
  return table;
}

}  // namespace tutti::fusion
