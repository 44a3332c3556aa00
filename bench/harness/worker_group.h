// The ranks of one measured system, started once, each waiting without work for the next command.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/interrupt.h"
#include "bench/harness/process.h"

namespace tutti::bench {

// Every rank is given one command line through its own named pipe and answers with one line through
// another:
// `<folder>/command-<rank>` and `<folder>/reply-<rank>`. A rank that waits sleeps in read(),
// whatever its library would do, so the groups that do not measure take no time from the one that
// does. A rank whose command pipe closes ends at once: nothing outlives the driver, also not on
// another host, and also not after SIGKILL.
class WorkerGroup {
 public:
  // Makes `folder` and its pipes and starts `processes` (one launcher or one per rank) that bring
  // up `ranks` workers.
  WorkerGroup(std::string name, int ranks, std::filesystem::path folder,
              const std::vector<ProcessSpec>& processes, const InterruptScope& interrupt);
  ~WorkerGroup();
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;

  // Waits until every rank has said that it is ready. Throws like ask.
  void wait_until_ready(double timeout_seconds);

  // Gives `command` to every rank and returns their answers in rank order. Throws CommError when a
  // rank ends or answers "error ..."; TimeoutError when one does not answer in time (both with the
  // last lines that the workers wrote); Interrupted on Ctrl-C. After a throw the group is of no
  // more use.
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
  bool has_failed_ = false;  // then ranks may be caught in an operation
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace tutti::bench
