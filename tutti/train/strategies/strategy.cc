#include "tutti/train/strategy.h"

#include "tutti/core/error.h"
#include "tutti/train/run/config.h"
#include "tutti/train/run/options.h"

namespace tutti::train {
namespace {

bool updates_slices(const StrategyParts& parts) {
  if (parts.options.choice<UpdateScope>("update") == UpdateScope::kAll) return false;
  if (!parts.optimizer.is_elementwise() || parts.options.integer("lag") != 0)
    throw ConfigError("DDL-1-92",
                      "`update` slice needs lag 0 and optimizer sgd, adam, adamw or rmsprop: other "
                      "rules need the norms of whole tensors.");
  return parts.communicator.size() > 1;
}

}  // namespace

int gradient_buffers(const Options& options) {
  return is_synchronous(options) && options.integer("lag") == 1 ? 2 : 1;
}

std::unique_ptr<Strategy> make_strategy(const StrategyParts& parts) {
  switch (parts.options.choice<StrategyKind>("strategy")) {
    case StrategyKind::kLocalSgd: return make_local_sgd(parts);
    case StrategyKind::kAsync: return make_parameter_servers(parts, true);
    case StrategyKind::kHybrid: return make_parameter_servers(parts, false);
    case StrategyKind::kSync: break;
  }
  return updates_slices(parts) ? make_sliced(parts) : make_sync(parts);
}

}  // namespace tutti::train
