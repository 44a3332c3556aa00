// Compiled with NDEBUG in every build, as libtorch is: the layout of at::RecordFunction depends on it.
#include "tutti/lms/hooks/record_hooks.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <pthread.h>

#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

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

  void add(const c10::IValue& value) {
    if (value.isTensor()) {
      add(value.toTensor());
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) add(tensor);
    } else if (value.isList()) {
      for (const c10::IValue& element : value.toListRef())
        if (element.isTensor()) add(element.toTensor());
    }
  }

  std::vector<BlockRef> blocks;
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

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  Session* const session = active.load(std::memory_order_acquire);
  if (!session) return nullptr;
  Inputs inputs(session->pager());
  for (const c10::IValue& value : function.inputs()) inputs.add(value);
  const std::string_view name = function.name();
  session->begin_operator(name, is_transparent(name), inputs.blocks, inputs.shapes);
  return nullptr;
}

void on_end(const at::RecordFunction&, at::ObserverContext*) {
  if (Session* const session = active.load(std::memory_order_acquire)) session->end_operator();
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
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

void deactivate() {
  if (Session* const session = active.exchange(nullptr)) {
    at::removeCallback(callback);
    session->stop();
  }
}

}  // namespace tutti::lms
