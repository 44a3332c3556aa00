// The sleeping thread of a job that hears what the transport and the operating system say about
// other ranks: who failed, who died, who is asked about.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tutti/comm/internal/news.h"
#include "tutti/comm/internal/roster.h"
#include "tutti/comm/transport/transport.h"

namespace tutti::comm {

// A failure goes to every rank of the communicator: on this host over the board, to other hosts by
// notice. A rank that waits sees it when it asks its Watch; one that computes, at its next call or
// `check`. Questions go out only while a rank has waited long, to one rank of each host, which
// answers for its host from the board. Processes of this host are watched by the kernel: a death is
// known at once, on this host and then on the others.
class Monitor {
 public:
  explicit Monitor(Transport& transport);
  ~Monitor();

  // The roster must stay until `remove`.
  void add(Roster& roster);
  // Tells other hosts that this host has left the communicator, when it is the last to leave.
  void remove(Roster& roster);

  // This rank found the failure: tells the ranks of other hosts, and people.
  void announce(Roster& roster);
  // Tells people, once, whatever the number of communicators that end with it.
  void print(const Result& failure);
  // The first failure of any communicator of the job, for what has no roster yet.
  Result failure();
  // Asks where the ranks of other hosts are. The answers come to the roster.
  void ask_other_hosts(Roster& roster, std::int64_t patience_ns);

 private:
  static constexpr int kInterval = 50;  // ms between two looks
  struct Process {
    int id = 0;
    int file = -1;
    bool is_dead = false;
    std::vector<int> job_ranks = {};
  };

  void loop();
  void sleep();
  void find_dead();
  void bury(Process& process);
  void handle(const Notice& notice);
  void answer(int asker, const Roster& roster);
  void tell(Roster& roster, const std::vector<int>& ranks, const News& news);

  Transport& transport_;
  int wake_file_ = -1;
  std::atomic<bool> is_ending_ = false;
  std::mutex mutex_;  // guards what follows
  std::map<int, Roster*> rosters_;
  std::vector<Process> processes_;
  std::mutex print_mutex_;
  std::string printed_;
  std::thread thread_;  // started by the first communicator
};

}  // namespace tutti::comm
