#include "tutti/lms/hooks/transparency.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <array>

#include "tutti/lms/tiling/tiling.h"

namespace tutti::lms {
namespace {

constexpr std::string_view kEvaluate = "autograd::engine::evaluate_function: ";

// Composite operators: their only kernel, for all devices, calls other operators.
constexpr std::array<std::string_view, 30> kComposite = {
    "aten::_to_copy",
    "aten::add",
    "aten::add_",
    "aten::binary_cross_entropy_with_logits",
    "aten::clone",
    "aten::div",
    "aten::div_",
    "aten::empty_like",
    "aten::full",
    "aten::full_like",
    "aten::masked_fill",
    "aten::mul",
    "aten::mul_",
    "aten::new_empty",
    "aten::new_empty_strided",
    "aten::new_full",
    "aten::new_ones",
    "aten::new_zeros",
    "aten::ones",
    "aten::ones_like",
    "aten::rsub",
    "aten::select_backward",
    "aten::slice_backward",
    "aten::sub",
    "aten::sub_",
    "aten::upsample_bilinear2d",
    "aten::upsample_nearest3d",
    "aten::upsample_trilinear3d",
    "aten::zeros",
    "aten::zeros_like",
};
static_assert(std::is_sorted(kComposite.begin(), kComposite.end()));

// Functions written in Python, and the autograd nodes that belong to them: they call other operators, and may contain a
// whole part of the network (torch.utils.checkpoint). Names of operators have a namespace, those of generated nodes end
// with a digit.
bool is_python(std::string_view name) {
  if (name.starts_with(kEvaluate)) name.remove_prefix(kEvaluate.size());
  if (name.empty() || name.find("::") != std::string_view::npos) return false;
  return name.back() < '0' || name.back() > '9';
}

bool is_view(const c10::FunctionSchema& schema) {
  const auto& returns = schema.returns();
  return !returns.empty() && std::all_of(returns.begin(), returns.end(), [](const auto& each) {
    return each.alias_info() && !each.alias_info()->isWrite();
  });
}

bool only_calls_others(const c10::OperatorHandle& op) {
  if (op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd)) return true;
  return (op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
          op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional)) &&
         std::binary_search(kComposite.begin(), kComposite.end(), op.operator_name().name);
}

}  // namespace

bool is_evaluation(std::string_view name) {
  return name.starts_with(kEvaluate);
}

Transparency transparency_of(std::string_view name, const std::optional<c10::OperatorName>& op,
                             bool is_node, bool has_tiling) {
  if (is_python(name)) return Transparency::kAlways;
  if (!has_tiling) return Transparency::kNever;
  if (is_evaluation(name)) return Transparency::kAlways;
  // Functions of torch::autograd::Function may access memory themselves.
  if (is_node)
    return name.find("CppNode") == std::string_view::npos ? Transparency::kAlways
                                                          : Transparency::kNever;
  if (!op) return Transparency::kNever;
  if (is_tiled(*op)) return Transparency::kUnlessInTile;
  if (op->name == "aten::empty" || op->name == "aten::empty_strided") return Transparency::kAlways;
  const auto handle = c10::Dispatcher::singleton().findSchema(*op);
  return handle && (is_view(handle->schema()) || only_calls_others(*handle)) ? Transparency::kAlways
                                                                             : Transparency::kNever;
}

}  // namespace tutti::lms
