// Compiled with NDEBUG in every build, as libtorch is: the layout of at::RecordFunction depends on it.
#include "tutti/lms/hooks/record_hooks.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <pthread.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tutti/lms/hooks/operator_call.h"
#include "tutti/lms/hooks/session.h"
#include "tutti/lms/hooks/touched_blocks.h"
#include "tutti/lms/hooks/transparency.h"
#include "tutti/lms/tiling/tiling.h"

namespace tutti::lms {
namespace {

std::atomic<Session*> active = nullptr;
std::atomic<at::CallbackHandle> callback = 0;

// libtorch calls on_start before and on_end after every operator and every autograd node, on the thread that runs it.
//
// on_start determines which arguments are blocks of the pager, which of these the operator modifies, and a hash of all
// shapes. The session then pins the blocks, which reads them back if they are out. For operators that can be repeated
// it also captures the arguments, with the contents of the blocks at that time; on_end adds them to the trace as a
// recipe of the result. Transparent functions are only counted.
//
// Allocations reach the session through the chain of memory sources (cpu_allocator.h). A forked child has no active
// session: its allocations go to libtorch, and blocks of the parent stay readable while they are resident.

// Sources cannot be removed from the allocator chain. This one forwards allocations to the active session, and frees
// the blocks of all sessions.
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
  explicit Inputs(Session& session)
      : pager_(session.pager()), segment_bytes_(session.segment_bytes()) {}

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
    if (segment_bytes_ > 0)
      add_touched_blocks(tensor, segment_bytes_, pager_, blocks);
    else if (const BlockRef ref = pager_.find(address))
      blocks.push_back(ref);
  }

  Pager& pager_;
  const std::int64_t segment_bytes_;
};

// Properties of a function that its name and schema determine.
struct Traits {
  std::string name;
  std::vector<bool> modifies;  // by argument
  bool is_repeatable = false;
  bool has_tiling = false;
  Transparency transparency = Transparency::kNever;

  bool is_transparent() const {
    return transparency == Transparency::kAlways ||
           (transparency == Transparency::kUnlessInTile && !is_in_tiled_operator());
  }
};

// The name of an operator is stored in its schema, so its address identifies the operator with its overload. Names of
// other functions are temporary; their entries are replaced.
const Traits& traits_of(const at::RecordFunction& function, bool has_tiling) {
  thread_local std::unordered_map<const char*, Traits> cache;
  Traits& traits = cache[function.name()];
  if (traits.name == function.name() && traits.has_tiling == has_tiling) return traits;
  traits = {};
  traits.name = function.name();
  traits.has_tiling = has_tiling;
  std::optional<c10::OperatorName> op;
  if (const auto schema = function.operator_schema()) {
    op = schema->operator_name();
    for (const c10::Argument& argument : schema->arguments())
      traits.modifies.push_back(argument.alias_info() && argument.alias_info()->isWrite());
    traits.is_repeatable = is_repeatable(traits.name);
  }
  const bool is_node = function.scope() == at::RecordScope::BACKWARD_FUNCTION;
  traits.transparency = transparency_of(traits.name, op, is_node, has_tiling);
  return traits;
}

// A running operator whose call can be repeated.
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
  const Traits& traits = traits_of(function, session->segment_bytes() > 0);
  if (traits.is_transparent()) {
    session->begin_operator(function.name(), true, {}, {}, 0);
    return nullptr;
  }
  Inputs inputs(*session);
  const auto values = function.inputs();
  for (std::size_t i = 0; i < values.size(); ++i)
    inputs.add(values[i], i < traits.modifies.size() && traits.modifies[i]);
  // Captures the contents of the inputs before this operator modifies them.
  auto call = traits.is_repeatable ? repeatable_call(function, *session) : nullptr;
  session->begin_operator(function.name(), false, inputs.blocks, inputs.modified, inputs.shapes);
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
