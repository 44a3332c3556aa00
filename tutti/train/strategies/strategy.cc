#include "tutti/train/strategy.h"

namespace tutti::train {

int gradient_buffers(const Options& options) {
  return options.text("strategy") == "sync" && options.integer("lag") == 1 ? 2 : 1;
}

std::unique_ptr<Strategy> make_strategy(const StrategyParts& parts) {
  const std::string& name = parts.options.text("strategy");
  if (name == "local_sgd") return make_local_sgd(parts);
  if (name == "async" || name == "hybrid") return make_parameter_servers(parts);
  return make_sync(parts);
}

}  // namespace tutti::train
