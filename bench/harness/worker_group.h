// The ranks of one measured system, started once; each waits for the next command without using CPU time.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/interrupt.h"
#include "bench/harness/process.h"

namespace tutti::bench {

// Every rank reads one command line from its own named pipe and replies with one line through another:
// `<folder>/command-<rank>` and `<folder>/reply-<rank>`. A waiting rank sleeps in read(), whatever its library would
// do, so groups that do not measure use no CPU time. A rank whose command pipe closes exits at once: no process
// outlives the driver, even on another host and after SIGKILL.
class WorkerGroup {
 public:
  // Creates `folder` and its pipes and starts `processes` (one launcher or one per rank), which start `ranks` workers.
  WorkerGroup(std::string name, int ranks, std::filesystem::path folder,
              const std::vector<ProcessSpec>& processes, const InterruptScope& interrupt);
  ~WorkerGroup();
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;

  // Waits until every rank has reported that it is ready. Throws like ask.
  void wait_until_ready(double timeout_seconds);

  // Sends `command` to every rank and returns their replies in rank order. Throws CommError if a rank exits or replies
  // "error ..."; TimeoutError if one does not reply in time (both with the last lines that the workers wrote);
  // Interrupted on Ctrl-C. After an exception the group is unusable.
  std::vector<std::string> ask(std::string_view command, double timeout_seconds);

  const std::string& name() const { return name_; }

 private:
  struct Pipe {
    int command = -1, reply = -1;
    std::string received;
  };

  std::vector<std::string> collect(double timeout_seconds);
  std::vector<int> take_answers(std::vector<std::string>& answers);
  void wait_for_events(double seconds);
  bool take_line(Pipe& pipe, std::string& line);
  void fail_if_ended(const std::vector<std::string>& answers);
  std::string log_tail() const;

  std::string name_;
  std::filesystem::path folder_;
  const InterruptScope& interrupt_;
  std::vector<Pipe> pipes_;
  bool has_failed_ = false;  // ranks may be blocked in an operation
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace tutti::bench
