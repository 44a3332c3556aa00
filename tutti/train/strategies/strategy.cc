#include "tutti/train/strategy.h"

#include "tutti/core/error.h"
#include "tutti/train/run/config.h"

namespace tutti::train {
namespace {

bool updates_slices(const StrategyParts& parts) {
  if (parts.options.text("update") == "all") return false;
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
  const std::string& name = parts.options.text("strategy");
  if (name == "local_sgd") return make_local_sgd(parts);
  if (name == "async" || name == "hybrid") return make_parameter_servers(parts, name == "async");
  return updates_slices(parts) ? make_sliced(parts) : make_sync(parts);
}

}  // namespace tutti::train
