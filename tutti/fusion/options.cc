#include "tutti/fusion/options.h"

namespace tutti::fusion {

const OptionTable& fusion_options() {
  static const OptionTable table = {
      {"bucket_bytes", OptionType::kBytes, "16MiB",
       "Tensors that are ready together are reduced together up to so many bytes.",
       "TUTTI_BUCKET_BYTES", 1, 1099511627776.0},
      {"cycle_ms", OptionType::kFloat, "0",
       "How long a bucket that is not full waits for more; 0: while others are under way only.",
       "TUTTI_CYCLE_MS", 0, 10000},
      {"window", OptionType::kInt, "2",
       "Buckets under way at once; tensors beyond wait, and those needed first overtake.",
       "TUTTI_WINDOW", 1, 64},
      {"radix", OptionType::kInt, "4",
       "Children of each rank in the tree on which ranks tell what is ready.", "TUTTI_RADIX", 1,
       1024},
      {"cache_entries", OptionType::kInt, "4096",
       "Tensors that need one bit to be told ready after their first time; 0: none.",
       "TUTTI_CACHE_ENTRIES", 0, 1e6},
      {"autotune", OptionType::kBool, "0",
       "Find bucket_bytes and cycle_ms by measuring while training runs.", "TUTTI_AUTOTUNE"},
      {"timeline", OptionType::kText, "",
       "File for what all ranks do with each tensor, for Perfetto or chrome://tracing; empty: "
       "none.",
       "TUTTI_TIMELINE"},
  };
  return table;
}

}  // namespace tutti::fusion
