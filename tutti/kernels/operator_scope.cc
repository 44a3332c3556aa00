// Compiled with NDEBUG in every build, as libtorch is: the layout of at::RecordFunction depends on it.
#include "tutti/kernels/operator_scope.h"

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include <utility>
#include <vector>

namespace tutti::kernels {

struct OperatorScope::Record {
  Record(at::StepCallbacks&& callbacks, const char* name, at::TensorList tensors)
      : inputs(tensors.begin(), tensors.end()), function(std::move(callbacks)) {
    function.before(name, &inputs);
  }
  std::vector<c10::IValue> inputs;
  at::RecordFunction function;
};

OperatorScope::OperatorScope(const char* name, at::TensorList tensors) {
  if (auto callbacks = at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION))
    record_ = std::make_unique<Record>(std::move(*callbacks), name, tensors);
}

OperatorScope::~OperatorScope() = default;

}  // namespace tutti::kernels
