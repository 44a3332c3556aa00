// Several hosts on this machine for the time of a benchmark, by scripts/testbed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/harness/interrupt.h"

namespace tutti::bench {

// The script that makes several hosts, where `tutti` runs from the build tree.
std::filesystem::path testbed_script();
// A port that nobody listens on, for the first rank of a job.
int free_port();

class Testbed {
 public:
  // Brings up host1 to host<hosts>, each with a link of this rate; `log` takes what the script
  // says. Throws IoError with its words when it cannot, Interrupted on Ctrl-C.
  Testbed(const std::filesystem::path& script, int hosts, double link_gigabits,
          const std::filesystem::path& log, const InterruptScope& interrupt);
  // Takes them down.
  ~Testbed();
  Testbed(const Testbed&) = delete;
  Testbed& operator=(const Testbed&) = delete;

  // The words in front of a command that make it run on `host`.
  static std::vector<std::string> prefix(const std::filesystem::path& script,
                                         const std::string& host);

 private:
  std::filesystem::path script_, log_;
};

}  // namespace tutti::bench
