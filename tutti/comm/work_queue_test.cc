#include "tutti/comm/work_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace tutti::comm {
namespace {

// A task without a sequel.
WorkQueue::Task task(std::function<void()> body) {
  return [body = std::move(body)] {
    body();
    return WorkQueue::Sequel();
  };
}

TEST(WorkQueue, AWaitingThreadRunsTheTask) {
  const auto queue = std::make_shared<WorkQueue>("test");
  int on_this_thread = 0;
  for (int turn = 0; turn < 100; ++turn) {
    std::thread::id runner;
    queue->finish(queue->add(task([&] { runner = std::this_thread::get_id(); })));
    on_this_thread += runner == std::this_thread::get_id();
  }
  EXPECT_GT(on_this_thread, 0);  // the thread of the queue may sometimes be faster
}

TEST(WorkQueue, RunsWithoutAWaitingThread) {
  const auto queue = std::make_shared<WorkQueue>("test");
  std::promise<std::thread::id> done;
  queue->add(task([&] { done.set_value(std::this_thread::get_id()); }));
  EXPECT_NE(done.get_future().get(), std::this_thread::get_id());
}

TEST(WorkQueue, KeepsTheOrderOnAllThreads) {
  std::vector<int> order;
  {
    const auto queue = std::make_shared<WorkQueue>("test");
    for (int i = 0; i < 300; ++i) {
      const auto number = queue->add(task([&order, i] { order.push_back(i); }));
      if (i % 7 == 0) queue->finish(number);
      if (i % 11 == 0) queue->hurry();
    }
  }  // closing runs the remaining tasks
  ASSERT_EQ(order.size(), 300u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(WorkQueue, OneTaskAtATimeForManyWaiters) {
  const auto queue = std::make_shared<WorkQueue>("test");
  int running = 0;
  int most = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        queue->finish(queue->add(task([&] {
          most = std::max(most, ++running);
          --running;
        })));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

TEST(WorkQueue, WaitingHasALimit) {
  const auto queue = std::make_shared<WorkQueue>("test");
  std::promise<void> release;
  const auto number = queue->add(task([&] { release.get_future().wait(); }));
  EXPECT_FALSE(queue->wait(number, std::chrono::milliseconds(1)));
  release.set_value();
  EXPECT_TRUE(queue->wait(number, std::chrono::minutes(1)));
}

TEST(WorkQueue, ContinuationsMayWaitForTheirTasks) {
  const auto queue = std::make_shared<WorkQueue>("test");
  std::promise<int> done;
  std::promise<void> inner, innermost;
  queue->add([&] {
    return [&] {
      queue->add([&] {
        return [&] {
          queue->add(task([&] { innermost.set_value(); }));
          innermost.get_future().wait();
          inner.set_value();
        };
      });
      queue->hurry();
      inner.get_future().wait();
      done.set_value(1);
    };
  });
  EXPECT_EQ(done.get_future().get(), 1);
}

TEST(WorkQueue, TheNextTaskStartsBeforeAContinuationHasEnded) {
  const auto queue = std::make_shared<WorkQueue>("test");
  std::promise<void> second;
  queue->add([&] { return [&] { second.get_future().wait(); }; });
  queue->add(task([&] { second.set_value(); }));
  queue->close();
}

TEST(WorkQueue, AfterTheEndTasksRunAtOnce) {
  const auto queue = std::make_shared<WorkQueue>("test");
  queue->close();
  queue->close();
  bool has_run = false;
  queue->add(task([&] { has_run = true; }));
  EXPECT_TRUE(has_run);
}

TEST(WorkQueue, WaitingForWorkRunsIt) {
  const auto queue = std::make_shared<WorkQueue>("test");
  std::promise<void> release;
  const Work blocked = queue->start([&] {
    release.get_future().wait();
    return Result::ok();
  });
  std::thread::id runner;
  const Work second = queue->start([&] {
    runner = std::this_thread::get_id();
    return Result::ok();
  });
  EXPECT_FALSE(queue->is_idle());
  EXPECT_FALSE(second.wait_for(std::chrono::milliseconds(1)));
  release.set_value();
  second.wait();
  EXPECT_TRUE(blocked.is_complete());
  EXPECT_NE(runner, std::thread::id());
  EXPECT_TRUE(queue->is_idle());
}

TEST(WorkQueue, AnErrorIsTheOutcomeOfTheWork) {
  const auto queue = std::make_shared<WorkQueue>("test");
  const Work failing = queue->start([]() -> Result { throw CommError("DDL-4-01", "no"); });
  EXPECT_THROW(failing.wait(), CommError);
  EXPECT_THROW(failing.wait(), CommError);
  EXPECT_TRUE(failing.wait_for(std::chrono::milliseconds(0)));
}

TEST(WorkQueue, WorkThatATaskStartsIsAPartOfTheTask) {
  const auto queue = std::make_shared<WorkQueue>("test");
  std::vector<int> order;
  const auto note = [&](int i) {
    order.push_back(i);
    return Result::ok();
  };
  const Work outer = queue->start([&] {
    EXPECT_TRUE(queue->is_in_task());
    queue->start([&] { return note(1); }).wait();
    return note(2);
  });
  queue->start([&] { return note(3); }).wait();
  EXPECT_TRUE(outer.is_complete());
  EXPECT_FALSE(queue->is_in_task());
  EXPECT_THAT(order, testing::ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace tutti::comm
