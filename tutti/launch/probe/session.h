// Session with a host: `ddlrun --serve` runs there, over ssh or srun, and replies to each line with a line.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tutti/auth/secret.h"
#include "tutti/os/process.h"

namespace tutti::launch {

struct Answer {
  bool is_there = false;
  std::string line = {};
  std::string errors = {};  // standard error, if the program ended
  int exit_code = 0;        // if the program ended
  bool timed_out = false;
  std::int64_t asked_ns = 0, answered_ns = 0;  // local wall clock
};

class Session {
 public:
  Session(std::string host, const std::vector<std::string>& command);
  const std::string& host() const { return host_; }

 private:
  friend std::vector<Answer> ask(const std::vector<Session*>& sessions,
                                 const std::vector<std::string>& lines, double seconds);
  void send(const std::string& line, Answer* answer);
  // Reads the available output; returns true when the answer is complete or can no longer arrive.
  bool read_answer(Answer* answer);

  std::string host_;
  os::Process process_;
  std::string output_, errors_;
};

// Sends one line to each session and waits for all answers, for at most `seconds`. Not thread-safe.
std::vector<Answer> ask(const std::vector<Session*>& sessions,
                        const std::vector<std::string>& lines, double seconds);

// Remote shell for `program --serve`: ssh, or srun inside Slurm jobs. Not used on this host.
enum class RemoteShell { kSsh, kSrun };
// Command that runs `program --serve`. `user`: to log in as; empty: the current one.
std::vector<std::string> serve_command(const std::string& host, bool is_here, RemoteShell shell,
                                       const std::string& program, const std::string& user = "");

// Kills the processes that the job with this secret has left on the hosts, where they can be reached.
void end_job_on(const std::vector<std::string>& hosts, const auth::Secret& secret,
                RemoteShell shell, const std::string& program);

// Remote end: replies to the lines of `in` on `out` until end of file. Requests:
//   {"do":"report",...}                                                    sends the Report
//   {"do":"listen","secret":K,"addresses":[A]}                             starts a LinkProbeServer
//   {"do":"measure","address":A,"port":P,"secret":K,"seconds":S}           measures one link
//   {"do":"end","secret":K}                                                kills all processes of the job
// The reply to anything else is {"error":"..."}.
void serve(std::istream& in, std::ostream& out, const std::string& version);

// Reason for a missing answer: code and message.
struct Failure {
  std::string code, message;
};
Failure explain(const std::string& host, const Answer& answer, const std::string& program);

}  // namespace tutti::launch
