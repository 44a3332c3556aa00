#include "tutti/torch_backend/task_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace tutti::torch_backend {
namespace {

// A task that nothing follows.
TaskQueue::Task task(std::function<void()> body) {
  return [body = std::move(body)] {
    body();
    return TaskQueue::Sequel();
  };
}

TEST(TaskQueue, WhoeverWaitsRunsItHimself) {
  TaskQueue queue("test");
  int on_this_thread = 0;
  for (int turn = 0; turn < 100; ++turn) {
    std::thread::id runner;
    queue.finish(queue.add(task([&] { runner = std::this_thread::get_id(); })));
    on_this_thread += runner == std::this_thread::get_id();
  }
  EXPECT_GT(on_this_thread, 0);  // the thread of the queue may be quicker now and then
}

TEST(TaskQueue, RunsWithoutAnybodyWaiting) {
  TaskQueue queue("test");
  std::promise<std::thread::id> done;
  queue.add(task([&] { done.set_value(std::this_thread::get_id()); }));
  EXPECT_NE(done.get_future().get(), std::this_thread::get_id());
}

TEST(TaskQueue, KeepsTheOrderWhoeverRuns) {
  std::vector<int> order;
  {
    TaskQueue queue("test");
    for (int i = 0; i < 300; ++i) {
      const auto number = queue.add(task([&order, i] { order.push_back(i); }));
      if (i % 7 == 0) queue.finish(number);
      if (i % 11 == 0) queue.hurry();
    }
  }  // closing runs what is left
  ASSERT_EQ(order.size(), 300u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(TaskQueue, OneTaskAtATimeForManyWaiters) {
  TaskQueue queue("test");
  int running = 0;
  int most = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        queue.finish(queue.add(task([&] {
          most = std::max(most, ++running);
          --running;
        })));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

TEST(TaskQueue, WaitingHasALimit) {
  TaskQueue queue("test");
  std::promise<void> release;
  const auto number = queue.add(task([&] { release.get_future().wait(); }));
  EXPECT_FALSE(queue.wait(number, std::chrono::milliseconds(1)));
  release.set_value();
  EXPECT_TRUE(queue.wait(number, std::chrono::minutes(1)));
}

TEST(TaskQueue, WhatFollowsMayWaitForTasksOfItsOwn) {
  TaskQueue queue("test");
  std::promise<int> done;
  std::promise<void> inner, innermost;
  queue.add([&] {
    return [&] {
      queue.add([&] {
        return [&] {
          queue.add(task([&] { innermost.set_value(); }));
          innermost.get_future().wait();
          inner.set_value();
        };
      });
      queue.hurry();
      inner.get_future().wait();
      done.set_value(1);
    };
  });
  EXPECT_EQ(done.get_future().get(), 1);
}

TEST(TaskQueue, TheNextTaskBeginsBeforeWhatFollowsHasEnded) {
  TaskQueue queue("test");
  std::promise<void> second;
  queue.add([&] { return [&] { second.get_future().wait(); }; });
  queue.add(task([&] { second.set_value(); }));
  queue.close();
}

TEST(TaskQueue, AfterTheEndTasksRunAtOnce) {
  TaskQueue queue("test");
  queue.close();
  queue.close();
  bool has_run = false;
  queue.add(task([&] { has_run = true; }));
  EXPECT_TRUE(has_run);
}

}  // namespace
}  // namespace tutti::torch_backend
