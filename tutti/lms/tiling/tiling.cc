#include "tutti/lms/tiling/tiling.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/library.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "tutti/lms/tiling/operators.h"
#include "tutti/lms/tiling/tile_size.h"

namespace tutti::lms {
namespace {

std::atomic<std::int64_t> calls = 0;
thread_local bool is_in_operator = false;

// This key is part of every call, between autograd (and the modes of Python) and the kernels of the device.
constexpr auto kKey = c10::DispatchKey::BackendSelect;

struct OperatorScope {
  OperatorScope() { is_in_operator = true; }
  ~OperatorScope() { is_in_operator = false; }
  OperatorScope(const OperatorScope&) = delete;
  OperatorScope& operator=(const OperatorScope&) = delete;
};

class TiledKernel final : public c10::OperatorKernel {
 public:
  explicit TiledKernel(TiledFunction run) : run_(std::move(run)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) {
    if (tile_bytes() == 0 || is_in_operator) {
      op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey), stack);
      return;
    }
    const OperatorScope scope;
    const at::AutoDispatchBelowADInplaceOrView no_gradients;
    // An untiled call passes through the observers again, which then see that it is one operator.
    if (run_(op, *stack))
      ++calls;
    else
      op.callBoxed(stack);
  }

 private:
  TiledFunction run_;
};

// Kernels cannot be replaced while other threads call them, so they are registered once.
class Registration {
 public:
  static const Registration& instance() {
    static const auto* const registration = new Registration;
    return *registration;
  }
  bool contains(const c10::OperatorName& name) const {
    return names_.contains({name.name, name.overload_name});
  }

 private:
  Registration() : library_(torch::Library::IMPL, "aten", kKey, __FILE__, __LINE__) {
    for (auto list : {elementwise_operators(), convolution_operators(), channel_operators(),
                      normalization_operators(), concatenation_operators()})
      for (TiledOperator& each : list) add(each);
  }
  void add(TiledOperator& each) {
    if (!c10::Dispatcher::singleton().findSchema(each.name))
      return;  // not in this version of libtorch
    const std::string name = toString(each.name);
    library_.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunctor(
                                    std::make_unique<TiledKernel>(std::move(each.run))));
    names_.emplace(each.name.name, each.name.overload_name);
  }

  torch::Library library_;
  std::set<std::pair<std::string, std::string>> names_;
};

}  // namespace

void set_tile_bytes(std::int64_t bytes) {
  if (bytes > 0) Registration::instance();
  tile_size() = bytes;
}

bool is_tiled(const c10::OperatorName& name) {
  return tile_bytes() > 0 && Registration::instance().contains(name);
}

bool is_in_tiled_operator() {
  return is_in_operator;
}

std::int64_t tiled_calls() {
  return calls;
}

}  // namespace tutti::lms
