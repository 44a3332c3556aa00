// Test helper: a forked process that is connected to the test by two pipes.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace tutti::comm::internal {

class TestProcess {
 public:
  // Runs `body(process)` in the child; its result is the exit status of the child.
  template <class Body>
  explicit TestProcess(Body&& body) {
    int down[2], up[2];
    if (pipe(down) != 0 || pipe(up) != 0) _exit(99);
    pid_ = fork();
    const bool is_child = pid_ == 0;
    read_ = is_child ? down[0] : up[0];
    write_ = is_child ? up[1] : down[1];
    close(is_child ? down[1] : down[0]);
    close(is_child ? up[0] : up[1]);
    if (is_child) _exit(std::forward<Body>(body)(*this));
  }
  ~TestProcess() {
    if (pid_ > 0) end(SIGKILL);
    close(read_);
    close(write_);
  }
  TestProcess(const TestProcess&) = delete;
  TestProcess& operator=(const TestProcess&) = delete;

  template <class T>
  void send(const T& value) {
    if (write(write_, &value, sizeof value) != sizeof value) raise(SIGABRT);
  }
  // Waits for a value from the other side; returns a default value if it has exited.
  template <class T>
  T receive() {
    T value{};
    if (read(read_, &value, sizeof value) != sizeof value) return T{};
    return value;
  }
  // Exit status, or 128 + signal.
  int join() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int end(int signal) {
    kill(pid_, signal);
    return join();
  }
  int pid() const { return pid_; }

 private:
  int pid_ = -1;
  int read_ = -1;
  int write_ = -1;
};

}  // namespace tutti::comm::internal
