// Background thread of a job that receives control messages and detects dead ranks.
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

// The thread sleeps until a process ends, it is woken, or kInterval has passed. Each iteration then
// 1. collects deaths: pidfds of the processes of this host, and the keepalive ring for the next host;
// 2. handles all pending control messages, because a process that ended may have sent a leave notice first;
// 3. fails the communicators that a dead rank had not left, and notifies all ranks of the job;
// 4. reports new failures and flushes the run log.
//
// A failure reaches every rank of the communicator: through the shared control block on this host, as a control message
// on other hosts. A blocked rank sees it in its Watchdog; a computing rank at its next call or `check`. Questions about
// the state of other ranks are sent only during a long wait, to one rank of each host, which replies for all ranks of
// its host from the shared control block.
//
// With on_failure=abort, a program that does not call the library within two seconds of a failure is terminated with
// exit code 70. With flight_signal, SIGUSR1 writes the flight record.
//
// Thread-safe.
class Monitor {
 public:
  static constexpr const char* kAbandoned = "DDL-4-13";

  // `transport` and `recorder` must outlive the monitor.
  Monitor(Transport& transport, Recorder& recorder, const Options& options);
  ~Monitor();

  // `membership` must stay alive until `remove`.
  void add(Membership& membership);
  // Marks that this rank makes no more calls. The last rank of a host to leave the communicator notifies the other
  // hosts.
  void leave(Membership& membership);
  void remove(Membership& membership);
  // Marks that this rank waits for the end of the job. From now on a process that exits is treated as lost even if it
  // has left all communicators: it cannot have passed the shutdown barrier before this rank.
  void expect_end();
  // Notifies all ranks that this rank exits without passing the shutdown barrier, so they do not wait for it.
  void announce_exit();

  // Reports the failure that this rank has detected and sends it to the ranks of other hosts.
  void announce(Membership& membership);
  // Fails all communicators of the job on all ranks, because this rank cannot continue.
  void abandon(const Result& failure);
  // Writes the failure to standard error, the run log and the flight record. A repeated message is written only once,
  // whatever the number of communicators that fail with it.
  void report(const Result& failure);
  Recorder& recorder() { return recorder_; }
  // The first failure of any communicator of the job; for objects that have no membership yet.
  Result failure();
  // For the first rank of each host: returns the contact string that the first rank of the previous host passes to
  // `join_keepalive_ring`. See keepalive_ring.h. Call both before the first `add`.
  std::string open_keepalive_ring(const auth::Secret& secret, const std::string& interfaces) {
    return keepalive_ring_.open(secret, transport_.rank(), interfaces);
  }
  void join_keepalive_ring(int job_rank, const std::string& address) {
    keepalive_ring_.connect(job_rank, address);
    keepalive_ring_.settle(2, 1);  // to the next host, and from the previous one
  }
  // Asks other hosts for the state of their ranks. The replies update the membership.
  void ask_other_hosts(Membership& membership, std::int64_t reply_timeout_ns);

 private:
  static constexpr int kInterval = 50;  // ms between two iterations
  static constexpr std::int64_t kReactionTime = 2'000'000'000;
  // Time for the message of a rank on another host to arrive after its connection has closed.
  static constexpr std::int64_t kMessageTime = 100'000'000;
  // Time for the last message of an exited process to arrive.
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
  void abandon_transport();
  void report_death(int job_rank) TUTTI_REQUIRES(mutex_);
  void notify_death(int job_rank, const Result& failure);
  void look_for_lost_at_end() TUTTI_REQUIRES(mutex_);
  // Returns the failure for a rank whose process has ended, or ok if the rank had left the communicator.
  static Result death_of(int rank, const Membership& membership);
  void handle(const OutOfBandMessage& received) TUTTI_REQUIRES(mutex_);
  void answer(int asker, const Membership& membership);
  void end_program_that_does_not_react(const Membership& membership) const;
  void send_to(Membership& membership, const std::vector<int>& ranks,
               const ControlMessage& message);

  Transport& transport_;
  Recorder& recorder_;
  const bool aborts_;
  const bool listens_;  // handles SIGUSR1
  int wake_file_ = -1;
  std::atomic<bool> is_ending_ = false;
  Mutex mutex_;
  std::map<int, Membership*> memberships_ TUTTI_GUARDED_BY(mutex_);
  std::vector<Process> processes_ TUTTI_GUARDED_BY(mutex_);
  KeepaliveRing keepalive_ring_;
  // Time of the lost connection, by rank of the job.
  std::map<int, std::int64_t> cut_off_ns_ TUTTI_GUARDED_BY(mutex_);
  // Time at which the end of a local process was detected.
  std::map<int, std::int64_t> ended_ns_ TUTTI_GUARDED_BY(mutex_);
  bool expects_end_ TUTTI_GUARDED_BY(mutex_) = false;
  std::atomic<bool> has_abandoned_transport_ = false;  // the end of the transport
  Mutex report_mutex_;
  std::string reported_ TUTTI_GUARDED_BY(report_mutex_);
  std::uint64_t signals_seen_;
  std::thread thread_;  // started by the first communicator
};

}  // namespace tutti::comm
