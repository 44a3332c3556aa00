#include "tutti/torch_backend/work.h"

#include <utility>

namespace tutti::torch_backend {

CollectiveWork::CollectiveWork(std::shared_ptr<comm::WorkQueue> queue, int rank, c10d::OpType type,
                               const char* title, std::vector<at::Tensor> outputs)
    : Work(rank, type, title), queue_(std::move(queue)), outputs_(std::move(outputs)) {}

c10::intrusive_ptr<CollectiveWork> CollectiveWork::start(std::shared_ptr<comm::WorkQueue> queue,
                                                         int rank, c10d::OpType type,
                                                         const char* title,
                                                         std::vector<at::Tensor> outputs,
                                                         std::function<void()> body) {
  auto work =
      c10::make_intrusive<CollectiveWork>(std::move(queue), rank, type, title, std::move(outputs));
  work->number_ = work->queue_->add([work, body = std::move(body)] { return work->run(body); });
  return work;
}

comm::WorkQueue::Sequel CollectiveWork::run(const std::function<void()>& body) {
  std::exception_ptr failure;
  try {
    const at::AutoDispatchBelowADInplaceOrView no_autograd;
    body();
  } catch (...) {
    failure = std::current_exception();
  }
  finish(failure);
  c10::intrusive_ptr<c10::ivalue::Future> future;
  {
    const std::lock_guard lock(mutex_);
    future = future_;
  }
  if (!future) return {};
  return [future, failure, outputs = outputs_] {
    failure ? future->setError(failure) : future->markCompleted(c10::IValue(outputs));
  };
}

bool CollectiveWork::isCompleted() {
  if (Work::isCompleted()) return true;
  queue_->hurry();
  return false;
}

bool CollectiveWork::wait(std::chrono::milliseconds timeout) {
  if (timeout == kNoTimeout) {
    queue_->finish(number_);
  } else if (!queue_->wait(number_, timeout)) {
    TORCH_CHECK(false, "DDL-4-05 the operation was not complete within the timeout of wait(), ",
                timeout.count(), " ms; it continues");
  }
  raise();
  return true;
}

void CollectiveWork::raise() const {
  const std::lock_guard lock(mutex_);
  if (exception_) std::rethrow_exception(exception_);
}

c10::intrusive_ptr<c10::ivalue::Future> CollectiveWork::getFuture() {
  std::unique_lock lock(mutex_);
  if (future_) return future_;
  auto future =
      c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
  const bool is_over = completed_;
  if (!is_over) future_ = future;
  const std::exception_ptr failure = exception_;
  lock.unlock();
  if (!is_over) {
    queue_->hurry();
  } else if (failure) {
    future->setError(failure);
  } else {
    future->markCompleted(c10::IValue(outputs_));
  }
  return future;
}

void CollectiveWork::abort() {
  TORCH_CHECK(false, "a collective of the ddl backend cannot be aborted; set a timeout instead");
}

MessageWork::MessageWork(int rank, c10d::OpType type, at::Tensor tensor)
    : Work(rank, type), tensor_(std::move(tensor)), source_(rank) {}

void MessageWork::begin(comm::Work work, at::Tensor target) {
  work_ = std::move(work);
  target_ = std::move(target);
}

bool MessageWork::isCompleted() {
  if (!work_.is_complete()) return false;
  if (isSuccess()) copy_out();
  return true;
}

bool MessageWork::isSuccess() const {
  return work_.is_complete() && !exception();
}

std::exception_ptr MessageWork::exception() const {
  if (!work_.is_complete()) return nullptr;
  try {
    work_.wait();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

bool MessageWork::wait(std::chrono::milliseconds timeout) {
  TORCH_CHECK(timeout == kNoTimeout || work_.wait_for(timeout),
              "DDL-4-05 the message was not complete within the timeout of wait(), ",
              timeout.count(), " ms; it continues");
  work_.wait();
  copy_out();
  return true;
}

void MessageWork::copy_out() {
  const std::lock_guard lock(mutex_);
  if (is_copied_ || !target_.defined()) return;
  const at::AutoDispatchBelowADInplaceOrView no_autograd;
  target_.copy_(tensor_);
  is_copied_ = true;
}

void MessageWork::abort() {
  TORCH_CHECK(false, "a message of the ddl backend cannot be aborted; set a timeout instead");
}

}  // namespace tutti::torch_backend
