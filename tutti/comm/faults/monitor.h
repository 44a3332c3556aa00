// The sleeping thread of a job that hears what the transport and the operating system say about
// other ranks: who failed, who died, who is asked about.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tutti/comm/faults/control_message.h"
#include "tutti/comm/faults/keepalive_ring.h"
#include "tutti/comm/faults/membership.h"
#include "tutti/comm/observe/recorder.h"
#include "tutti/comm/transport/transport.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {

// A failure goes to every rank of the communicator: on this host over the board, to other hosts by
// notice. A rank that waits sees it when it asks its Watchdog; one that computes, at its next call
// or `check`. Questions go out only while a rank has waited long, to one rank of each host, which
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

  // The membership must stay until `remove`.
  void add(Membership& membership);
  // This rank makes no more calls. When it is the last of its host to leave the communicator, other
  // hosts are notified.
  void leave(Membership& membership);
  void remove(Membership& membership);
  // This rank waits for the end of the job. From now on a process that ends is lost even if it has
  // left all communicators: it cannot have come to the end before this rank.
  void expect_end();
  // This rank exits without having come to the end together with the others: they need not wait.
  void announce_exit();

  // This rank found the failure: tells the ranks of other hosts, and people.
  void announce(Membership& membership);
  // This rank cannot go on: fails all communicators of the job, here and everywhere.
  void abandon(const Result& failure);
  // Tells people: on standard error, in the run log, by the flight record. Once, whatever the
  // number of communicators that end with it.
  void report(const Result& failure);
  Recorder& recorder() { return recorder_; }
  // The first failure of any communicator of the job, for what has no membership yet.
  Result failure();
  // For the first rank of each host: gives what the first rank of the host before needs for
  // `hold_on_to`. See lifeline.h. Both before the first `add`.
  std::string open_keepalive_ring(const auth::Secret& secret, const std::string& interfaces) {
    return keepalive_ring_.open(secret, transport_.rank(), interfaces);
  }
  void hold_on_to(int job_rank, const std::string& address) {
    keepalive_ring_.connect(job_rank, address);
    keepalive_ring_.settle(2, 1);  // to the next host and from the one before
  }
  // Asks where the ranks of other hosts are. The answers come to the membership.
  void ask_other_hosts(Membership& membership, std::int64_t patience_ns);

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
  std::vector<int> find_dead() TUTTI_REQUIRES(mutex_);
  void give_up();
  void bury(int job_rank) TUTTI_REQUIRES(mutex_);
  void notify_death(int job_rank, const Result& failure);
  void look_for_lost_at_end() TUTTI_REQUIRES(mutex_);
  // What happened to a rank of the communicator whose process has ended; nothing if it left before.
  static Result death_of(int rank, const Membership& membership);
  void handle(const Notice& notice) TUTTI_REQUIRES(mutex_);
  void answer(int asker, const Membership& membership);
  void end_program_that_does_not_react(const Membership& membership) const;
  void tell(Membership& membership, const std::vector<int>& ranks, const ControlMessage& news);

  Transport& transport_;
  Recorder& recorder_;
  const bool aborts_;
  const bool listens_;  // to SIGUSR1
  int wake_file_ = -1;
  std::atomic<bool> is_ending_ = false;
  Mutex mutex_;
  std::map<int, Membership*> rosters_ TUTTI_GUARDED_BY(mutex_);
  std::vector<Process> processes_ TUTTI_GUARDED_BY(mutex_);
  KeepaliveRing keepalive_ring_;  // used by the constructing thread before `thread_` starts
  std::map<int, std::int64_t> cut_off_ns_
      TUTTI_GUARDED_BY(mutex_);  // since when, by rank of the job
  std::map<int, std::int64_t> ended_ns_
      TUTTI_GUARDED_BY(mutex_);  // when a process of this host was seen to have ended
  bool expects_end_ TUTTI_GUARDED_BY(mutex_) = false;
  std::atomic<bool> has_given_up_ = false;  // the end of the transport
  Mutex report_mutex_;
  std::string reported_ TUTTI_GUARDED_BY(report_mutex_);
  std::uint64_t signals_seen_;
  std::thread thread_;  // started by the first communicator
};

}  // namespace tutti::comm
