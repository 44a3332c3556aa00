#include "tutti/lms/options.h"

#include "tutti/core/bytes.h"

namespace tutti::lms {
namespace {

constexpr std::int64_t kDefaultTileBytes = 32 << 20;

}  // namespace

const OptionTable& lms_options() {
  static const OptionTable table = {
      {"budget", OptionType::kText, "auto",
       "Limit of resident tensor memory in bytes, such as 2GiB; auto: the memory available to the "
       "process.",
       "TUTTI_LMS_BUDGET"},
      {.name = "mode",
       .type = OptionType::kChoice,
       .default_value = "auto",
       .help = "Treatment of blocks that leave memory. auto: swap or recompute, whichever is "
               "faster; swap: only swap; recompute: recompute where possible; full: like auto, and "
               "also swap parameters, gradients and optimizer state; off: disabled.",
       .environment = "TUTTI_LMS_MODE",
       .choices = {"auto", "swap", "recompute", "full", "off"}},
      {"swap_dir", OptionType::kText, "",
       "Directory on a local disk for the swap file; empty: TMPDIR, else /var/tmp.",
       "TUTTI_LMS_DIR"},
      {"compaction", OptionType::kBool, "1",
       "Store blocks in a lossless encoding where that is known to be smaller.",
       "TUTTI_LMS_COMPACTION"},
      {"tiling", OptionType::kText, "0",
       "Tile size in bytes for operators on large tensors, such as 64MiB; 1: default size; 0: "
       "untiled. Tiled results differ by rounding.",
       "TUTTI_LMS_TILING"},
      {"lms", OptionType::kInt, "256", "Smallest block that may leave memory, in KB; 0: all.",
       "TUTTI_LMS_KB", 0, 1e9},
      {"lms_frac", OptionType::kFloat, "1",
       "Fraction of the budget that may be in use before blocks are moved.", "TUTTI_LMS_FRAC", 0.1,
       1},
      {"swapout_threshold", OptionType::kInt, "-1",
       "Blocks are swapped out only if their next use is more than this number of operators away; "
       "-1: chosen by cost.",
       "TUTTI_LMS_SWAPOUT_THRESHOLD", -1, 1e9},
      {"swapin_ahead", OptionType::kInt, "-1",
       "Number of operators before its use at which a block is swapped in; -1: from the measured "
       "bandwidth.",
       "TUTTI_LMS_SWAPIN_AHEAD", -1, 1e9},
      {"swapin_groupby", OptionType::kInt, "-1",
       "Uses within this number of operators share one swap-in; -1: chosen by cost.",
       "TUTTI_LMS_SWAPIN_GROUPBY", -1, 1e9},
      {"sync_mode", OptionType::kInt, "0",
       "Synchronous transfers: 0 none, 1 swap-outs, 2 swap-ins, 3 both (slowest, least memory).",
       "TUTTI_LMS_SYNC_MODE", 0, 3},
      {"autotune", OptionType::kBool, "1",
       "Search for the fastest plan with the simulator; 0: use the first plan that fits.",
       "TUTTI_LMS_AUTOTUNE"},
      {"autotune_plot", OptionType::kText, "",
       "SVG file for the predicted memory over time; empty: none.", "TUTTI_LMS_AUTOTUNE_PLOT"},
  };
  return table;
}

std::int64_t tile_bytes_of(const std::string& tiling) {
  if (tiling.empty()) return 0;
  const std::int64_t bytes = parse_bytes(tiling);
  return bytes == 1 ? kDefaultTileBytes : bytes;
}

}  // namespace tutti::lms
