// Compiled with NDEBUG in every build, as libtorch is: the layout of at::RecordFunction depends on it.
#include "tutti/lms/hooks/record_hooks.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <pthread.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tutti/lms/hooks/operator_call.h"
#include "tutti/lms/hooks/session.h"

namespace tutti::lms {
namespace {

std::atomic<Session*> active = nullptr;
std::atomic<at::CallbackHandle> callback = 0;

// Sources cannot be removed from the allocator chain. This one passes on to the active session, and frees the blocks of
// all sessions.
class SessionSource final : public MemorySource {
 public:
  static SessionSource& instance() {
    static auto* const source = new SessionSource;
    return *source;
  }
  void* allocate(std::size_t bytes) override {
    Session* const session = active.load(std::memory_order_acquire);
    return session ? session->allocate(bytes) : nullptr;
  }
  bool free(void* address) override {
    for (Node* node = sessions_.load(std::memory_order_acquire); node; node = node->next)
      if (node->session.free(address)) return true;
    return false;
  }
  void add(Session& session) {
    sessions_.store(new Node{session, sessions_.load()}, std::memory_order_release);
  }

 private:
  struct Node {
    Session& session;
    Node* next;
  };
  std::atomic<Node*> sessions_ = nullptr;
};

// Collects the blocks and a hash of the shapes of operator inputs.
class Inputs {
 public:
  explicit Inputs(Pager& pager) : pager_(pager) {}

  void add(const c10::IValue& value, bool is_modified) {
    const std::size_t first = blocks.size();
    if (value.isTensor()) {
      add(value.toTensor());
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) add(tensor);
    } else if (value.isList()) {
      for (const c10::IValue& element : value.toListRef())
        if (element.isTensor()) add(element.toTensor());
    }
    if (is_modified)
      modified.insert(modified.end(), blocks.begin() + static_cast<std::ptrdiff_t>(first),
                      blocks.end());
  }

  std::vector<BlockRef> blocks, modified;
  std::uint64_t shapes = kHashSeed;

 private:
  void add(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage() || !tensor.device().is_cpu()) return;
    for (const std::int64_t size : tensor.sizes())
      shapes = (shapes ^ static_cast<std::uint64_t>(size)) * 1099511628211ULL;
    const void* const address = tensor.storage().data();
    if (!pager_.owns(address)) return;
    if (const BlockRef ref = pager_.find(address)) blocks.push_back(ref);
  }

  Pager& pager_;
};

// Functions written in Python, and the autograd nodes that belong to them: they call other operators, and may contain a
// whole part of the network (torch.utils.checkpoint). Names of operators have a namespace, those of generated nodes end
// with a digit.
bool is_transparent(std::string_view name) {
  constexpr std::string_view kEvaluate = "autograd::engine::evaluate_function: ";
  if (name.starts_with(kEvaluate)) name.remove_prefix(kEvaluate.size());
  if (name.empty() || name.find("::") != std::string_view::npos) return false;
  return name.back() < '0' || name.back() > '9';
}

// Properties of an operator that its schema determines.
struct Traits {
  std::string name;
  std::vector<bool> modifies;  // by argument
  bool is_repeatable = false;
};

// The name of an operator is stored in its schema, so its address identifies the operator with its overload. Names of
// other functions are temporary; their entries are replaced.
const Traits& traits_of(const at::RecordFunction& function) {
  thread_local std::unordered_map<const char*, Traits> cache;
  Traits& traits = cache[function.name()];
  if (traits.name == function.name()) return traits;
  traits = {function.name(), {}, false};
  if (const auto schema = function.operator_schema()) {
    for (const c10::Argument& argument : schema->arguments())
      traits.modifies.push_back(argument.alias_info() && argument.alias_info()->isWrite());
    traits.is_repeatable = is_repeatable(traits.name);
  }
  return traits;
}

// An operator that runs and can be repeated.
struct RepeatableCall final : at::ObserverContext {
  c10::OperatorName name{"", ""};
  std::vector<c10::IValue> arguments;
  std::vector<Recipe::Input> inputs;
};

std::unique_ptr<at::ObserverContext> repeatable_call(const at::RecordFunction& function,
                                                     Session& session) {
  auto call = std::make_unique<RepeatableCall>();
  call->arguments.assign(function.inputs().begin(), function.inputs().end());
  const auto blocks = OperatorCall::inputs_of(call->arguments, session.pager());
  if (!blocks) return nullptr;
  auto inputs = session.contents_of(*blocks);
  const auto name = function.operator_name();
  if (!inputs || !name) return nullptr;
  call->inputs = std::move(*inputs);
  call->name = *name;
  return call;
}

void add_recipe(const at::RecordFunction& function, RepeatableCall& call, Session& session) {
  const auto& outputs = function.outputs();
  if (outputs.empty() || !outputs.front().isTensor()) return;
  const at::Tensor& output = outputs.front().toTensor();
  if (!output.defined() || !output.has_storage() || output.storage_offset() != 0) return;
  const BlockRef block = session.pager().find(output.storage().data());
  if (!block) return;
  session.add_recipe(block, std::move(call.inputs), [&](const ProducerOf& producer_of) {
    return std::make_shared<const OperatorCall>(call.name, call.arguments, session.pager(),
                                                producer_of);
  });
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  Session* const session = active.load(std::memory_order_acquire);
  if (!session || is_repeating()) return nullptr;
  const Traits& traits = traits_of(function);
  Inputs inputs(session->pager());
  const auto values = function.inputs();
  for (std::size_t i = 0; i < values.size(); ++i)
    inputs.add(values[i], i < traits.modifies.size() && traits.modifies[i]);
  // The former contents, before this operator modifies them.
  auto call = traits.is_repeatable ? repeatable_call(function, *session) : nullptr;
  const std::string_view name = function.name();
  session->begin_operator(name, is_transparent(name), inputs.blocks, inputs.modified,
                          inputs.shapes);
  return call;
}

void on_end(const at::RecordFunction& function, at::ObserverContext* context) {
  Session* const session = active.load(std::memory_order_acquire);
  if (!session || is_repeating()) return;
  if (auto* const call = static_cast<RepeatableCall*>(context))
    add_recipe(function, *call, *session);
  session->end_operator();
}

}  // namespace

Session* active_session() {
  return active.load(std::memory_order_acquire);
}

void activate(Session& session) {
  static const bool is_registered = [] {
    add_source(SessionSource::instance(), SourceOrder::kPager);
    ::pthread_atfork(nullptr, nullptr, [] { active = nullptr; });
    return true;
  }();
  static_cast<void>(is_registered);
  SessionSource::instance().add(session);
  session.start();
  active = &session;
  callback = at::addGlobalCallback(
      at::RecordFunctionCallback(&on_start, &on_end)
          .needsInputs(true)
          .needsOutputs(true)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

void deactivate() {
  if (Session* const session = active.exchange(nullptr)) {
    at::removeCallback(callback);
    session->stop();
  }
}

}  // namespace tutti::lms
