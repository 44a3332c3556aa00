// Several hosts on this machine for the duration of a benchmark, with scripts/testbed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/harness/interrupt.h"

namespace tutti::bench {

// The script that creates the hosts, if `tutti` runs from the build tree.
std::filesystem::path testbed_script();
// A free port for the first rank of a job.
int free_port();

class Testbed {
 public:
  // Starts host1 to host<hosts>, each with a link of this rate; `log` receives the output of the script. Throws IoError
  // with its message if that fails, Interrupted on Ctrl-C.
  Testbed(const std::filesystem::path& script, int hosts, double link_gigabits,
          const std::filesystem::path& log, const InterruptScope& interrupt);
  // Removes the hosts.
  ~Testbed();
  Testbed(const Testbed&) = delete;
  Testbed& operator=(const Testbed&) = delete;

  // The prefix of a command that runs it on `host`.
  static std::vector<std::string> prefix(const std::filesystem::path& script,
                                         const std::string& host);

 private:
  std::filesystem::path script_, log_;
};

}  // namespace tutti::bench
