// Handles of operations in flight, as c10d::Work objects.
#pragma once

#include <ATen/core/ivalue.h>

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "tutti/comm/work_queue.h"
#include "tutti/torch_backend/compat.h"

namespace tutti::torch_backend {

// A collective in the work queue of its process group's communicator.
//
// Collectives run in the order of submission. A task that has not started when wait() is called runs on the calling
// thread, which saves a thread switch. Calls that only poll (isCompleted, getFuture) make the thread of the queue start
// it instead. An error of the task is stored and rethrown by wait(), or set on the future. wait() with a timeout throws
// c10::Error when it expires; the operation then continues in the background.
class CollectiveWork : public c10d::Work {
 public:
  // `body` performs the collective and throws on failure. `outputs` is the value of the future.
  static c10::intrusive_ptr<CollectiveWork> start(std::shared_ptr<comm::WorkQueue> queue, int rank,
                                                  c10d::OpType type, const char* title,
                                                  std::vector<at::Tensor> outputs,
                                                  std::function<void()> body);

  CollectiveWork(std::shared_ptr<comm::WorkQueue> queue, int rank, c10d::OpType type,
                 const char* title, std::vector<at::Tensor> outputs);
  bool isCompleted() override;
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  std::vector<at::Tensor> result() override { return outputs_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  void abort() override;

 private:
  comm::WorkQueue::Sequel run(const std::function<void()>& body);
  void raise() const;

  const std::shared_ptr<comm::WorkQueue> queue_;
  std::uint64_t number_ = 0;
  std::vector<at::Tensor> outputs_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;  // created on the first call of getFuture
};

// A point-to-point message. Keeps the tensor alive until the message is complete.
class MessageWork : public c10d::Work {
 public:
  MessageWork(int rank, c10d::OpType type, at::Tensor tensor);
  // `target`: destination of the received data if it is not the memory of `tensor`.
  void begin(comm::Work work, at::Tensor target = {});
  int* source() { return &source_; }

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  int sourceRank() const override { return source_; }
  std::vector<at::Tensor> result() override { return {target_.defined() ? target_ : tensor_}; }
  void abort() override;

 private:
  void copy_out();

  at::Tensor tensor_;
  at::Tensor target_;
  comm::Work work_;
  int source_;
  bool is_copied_ = false;
};

}  // namespace tutti::torch_backend
