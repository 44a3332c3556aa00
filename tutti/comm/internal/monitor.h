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

#include "tutti/comm/internal/lifeline.h"
#include "tutti/comm/internal/news.h"
#include "tutti/comm/internal/recorder.h"
#include "tutti/comm/internal/roster.h"
#include "tutti/comm/transport/transport.h"

namespace tutti::comm {

// A failure goes to every rank of the communicator: on this host over the board, to other hosts by
// notice. A rank that waits sees it when it asks its Watch; one that computes, at its next call or
// `check`. Questions go out only while a rank has waited long, to one rank of each host, which
// answers for its host from the board. Processes of this host are watched by the kernel, one on the
// next host over a connection: a death is known at once, here and then everywhere.
//
// A program that does not call again within two seconds of a failure is ended with exit code 70
// where the option on_failure says so. SIGUSR1, with the option flight_signal, has the flight
// record written.
class Monitor {
 public:
  static constexpr const char* kAbandoned = "DDL-4-13";

  // `transport` and `recorder` must outlive the monitor.
  Monitor(Transport& transport, Recorder& recorder, const Options& options);
  ~Monitor();

  // The roster must stay until `remove`.
  void add(Roster& roster);
  // This rank makes no more calls. When it is the last of its host to leave the communicator, other
  // hosts are notified.
  void leave(Roster& roster);
  void remove(Roster& roster);
  // This rank waits for the end of the job. From now on a process that ends is lost even if it has
  // left all communicators: it cannot have come to the end before this rank.
  void expect_end();
  // This rank exits without having come to the end together with the others: they need not wait.
  void announce_exit();

  // This rank found the failure: tells the ranks of other hosts, and people.
  void announce(Roster& roster);
  // This rank cannot go on: fails all communicators of the job, here and everywhere.
  void abandon(const Result& failure);
  // Tells people: on standard error, in the run log, by the flight record. Once, whatever the
  // number of communicators that end with it.
  void report(const Result& failure);
  Recorder& recorder() { return recorder_; }
  // The first failure of any communicator of the job, for what has no roster yet.
  Result failure();
  // For the first rank of each host: gives what the first rank of the host before needs for
  // `hold_on_to`. See lifeline.h. Both before the first `add`.
  std::string open_lifeline(const auth::Secret& secret, const std::string& interfaces) {
    return lifeline_.open(secret, transport_.rank(), interfaces);
  }
  void hold_on_to(int job_rank, const std::string& address) {
    lifeline_.connect(job_rank, address);
    lifeline_.settle(2, 1);  // to the next host and from the one before
  }
  // Asks where the ranks of other hosts are. The answers come to the roster.
  void ask_other_hosts(Roster& roster, std::int64_t patience_ns);

 private:
  static constexpr int kInterval = 50;  // ms between two looks
  static constexpr std::int64_t kReactionTime = 2'000'000'000;
  static constexpr std::int64_t kNewsTime = 100'000'000;
  // The last message of a process that has ended may still be in flight.
  static constexpr std::int64_t kEndTime = 1'000'000'000;
  static constexpr int kExitCode = 70;
  struct Process {
    int id = 0;
    int file = -1;
    bool has_ended = false;
    std::vector<int> job_ranks = {};
  };

  void loop();
  void sleep();
  std::vector<int> find_dead();
  void give_up();
  void bury(int job_rank);
  void notify_death(int job_rank, const Result& failure);
  void look_for_lost_at_end();
  // What happened to a rank of the communicator whose process has ended; nothing if it left before.
  static Result death_of(int rank, const Roster& roster);
  void handle(const Notice& notice);
  void answer(int asker, const Roster& roster);
  void end_program_that_does_not_react(const Roster& roster) const;
  void tell(Roster& roster, const std::vector<int>& ranks, const News& news);

  Transport& transport_;
  Recorder& recorder_;
  const bool aborts_;
  const bool listens_;  // to SIGUSR1
  int wake_file_ = -1;
  std::atomic<bool> is_ending_ = false;
  std::mutex mutex_;  // guards what follows
  std::map<int, Roster*> rosters_;
  std::vector<Process> processes_;
  Lifeline lifeline_;
  std::map<int, std::int64_t> cut_off_ns_;  // since when, by rank of the job
  std::map<int, std::int64_t> ended_ns_;    // when a process of this host was seen to have ended
  bool expects_end_ = false;
  std::atomic<bool> has_given_up_ = false;  // the end of the transport
  std::mutex report_mutex_;
  std::string reported_;
  std::uint64_t signals_seen_;
  std::thread thread_;  // started by the first communicator
};

}  // namespace tutti::comm
