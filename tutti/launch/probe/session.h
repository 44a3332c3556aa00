// A conversation with a host: `ddlrun --serve` runs there, over ssh, and answers lines with lines.
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
  std::string errors = {};  // what was said on standard error, if it ended
  int exit_code = 0;        // if it ended
  bool timed_out = false;
  std::int64_t asked_ns = 0, answered_ns = 0;  // our wall clock
};

class Session {
 public:
  Session(std::string host, const std::vector<std::string>& command);
  const std::string& host() const { return host_; }

 private:
  friend std::vector<Answer> ask(const std::vector<Session*>& sessions,
                                 const std::vector<std::string>& lines, double seconds);
  void send(const std::string& line, Answer* answer);
  // Reads what is there; true when the answer is complete, for good or bad.
  bool hear(Answer* answer);

  std::string host_;
  os::Process process_;
  std::string heard_, errors_;
};

// Asks all at once and waits for all answers, `seconds` at most. One thread.
std::vector<Answer> ask(const std::vector<Session*>& sessions,
                        const std::vector<std::string>& lines, double seconds);

// How to run `program --serve` on a host: directly here, else by ssh, or by srun inside Slurm jobs.
enum class RemoteShell { kSsh, kSrun };
// `user`: to log in as; empty: the current one.
std::vector<std::string> serve_command(const std::string& host, bool is_here, RemoteShell shell,
                                       const std::string& program, const std::string& user = "");

// Kills what the job with this secret has left on the hosts, where `ask` can reach them.
void end_job_on(const std::vector<std::string>& hosts, const auth::Secret& secret,
                RemoteShell shell, const std::string& program);

// The other end: answers the lines of `in` on `out` until there are no more. Takes
// {"do":"report",...}, {"do":"listen","secret":K,"addresses":[A]} and {"do":"measure","address":A,
// "port":P,"secret":K,"seconds":S}; {"do":"end","secret":K} kills all processes of the job with
// this secret. An answer to anything else is {"error":"..."}.
void serve(std::istream& in, std::ostream& out, const std::string& version);

// Why a host gave no answer: code and sentence.
struct Failure {
  std::string code, sentence;
};
Failure explain(const std::string& host, const Answer& answer, const std::string& program);

}  // namespace tutti::launch
