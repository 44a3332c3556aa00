// Operations under way, as torch sees them.
#pragma once

#include <ATen/core/ivalue.h>

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "tutti/comm/work_queue.h"
#include "tutti/torch_backend/compat.h"

namespace tutti::torch_backend {

// A collective in the queue of its process group's communicator. wait() of a task that has not
// begun runs it on the caller's thread; somebody who only looks (isCompleted, getFuture) has the
// queue's thread begin.
class CollectiveWork : public c10d::Work {
 public:
  // `body` does it, and throws what made it fail. `outputs` are what the future gives.
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
  c10::intrusive_ptr<c10::ivalue::Future> future_;  // made when somebody wants it
};

// A message. The tensor is kept until it is through.
class MessageWork : public c10d::Work {
 public:
  MessageWork(int rank, c10d::OpType type, at::Tensor tensor);
  // `target`: where the message goes when it has come, if that is not `tensor`'s own memory.
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
