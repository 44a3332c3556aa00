#include "tutti/train/strategy.h"

#include "tutti/core/error.h"
#include "tutti/train/run/config.h"
#include "tutti/train/run/options.h"

namespace tutti::train {
namespace {

bool is_sharded(const StrategyContext& context) {
  if (context.options.choice<UpdateScope>("update") == UpdateScope::kAll) return false;
  if (!context.optimizer.is_elementwise() || context.options.integer("lag") != 0)
    throw ConfigError("DDL-1-92",
                      "`update` sharded needs lag 0 and optimizer sgd, adam, adamw or rmsprop: "
                      "other optimizers need the norms of whole tensors.");
  return context.communicator.size() > 1;
}

}  // namespace

int gradient_buffers(const Options& options) {
  return is_synchronous(options) && options.integer("lag") == 1 ? 2 : 1;
}

std::unique_ptr<Strategy> make_strategy(const StrategyContext& context) {
  switch (context.options.choice<StrategyKind>("strategy")) {
    case StrategyKind::kLocalSgd: return make_local_sgd(context);
    case StrategyKind::kAsync: return make_parameter_servers(context, true);
    case StrategyKind::kHybrid: return make_parameter_servers(context, false);
    case StrategyKind::kSync: break;
  }
  return is_sharded(context) ? make_sharded(context) : make_sync(context);
}

}  // namespace tutti::train
