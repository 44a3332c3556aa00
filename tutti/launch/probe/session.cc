#include "tutti/launch/probe/session.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "tutti/core/clock.h"
#include "tutti/os/shell.h"

namespace tutti::launch {

Session::Session(std::string host, const std::vector<std::string>& command)
    : host_(std::move(host)),
      process_({.arguments = command, .input = os::ProcessSpec::Input::kPipe}) {}

void Session::send(const std::string& line, Answer* answer) {
  const std::string text = line + "\n";
  answer->asked_ns = wall_ns();
  // A session that has already ended reports the reason when it is read.
  [[maybe_unused]] const auto written = ::write(process_.input().get(), text.data(), text.size());
}

bool Session::read_answer(Answer* answer) {
  std::array<char, 65536> piece{};
  std::array<pollfd, 2> files = {
      {{process_.output().get(), POLLIN, 0}, {process_.errors().get(), POLLIN, 0}}};
  ::poll(files.data(), files.size(), 0);
  const std::array<std::pair<os::UniqueFd*, std::string*>, 2> ways = {
      {{&process_.output(), &output_}, {&process_.errors(), &errors_}}};
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (files[i].fd < 0 || files[i].revents == 0) continue;
    const auto bytes = ::read(files[i].fd, piece.data(), piece.size());
    bytes > 0 ? (void)ways[i].second->append(piece.data(), static_cast<std::size_t>(bytes))
              : ways[i].first->close();
  }
  // Some login scripts print text; valid replies are JSON.
  for (std::size_t end; (end = output_.find('\n')) != output_.npos;) {
    std::string line = output_.substr(0, end);
    output_.erase(0, end + 1);
    if (!line.starts_with('{')) continue;
    answer->line = std::move(line);
    answer->answered_ns = wall_ns();
    return answer->is_there = true;
  }
  if (process_.output().is_open() || process_.errors().is_open() || !process_.has_ended()) {
    return false;
  }
  answer->exit_code = process_.exit_code();
  answer->errors = errors_;
  return true;
}

std::vector<Answer> ask(const std::vector<Session*>& sessions,
                        const std::vector<std::string>& lines, double seconds) {
  std::vector<Answer> answers(sessions.size());
  std::vector<std::size_t> waiting;
  // Writing to a session whose program has ended must not kill this process.
  const auto old_handler = ::signal(SIGPIPE, SIG_IGN);
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    sessions[i]->send(lines[i], &answers[i]);
    waiting.push_back(i);
  }
  for (const Stopwatch watch; !waiting.empty() && watch.seconds() < seconds;) {
    std::vector<pollfd> files;
    for (const std::size_t i : waiting) {
      os::Process& process = sessions[i]->process_;
      files.push_back({process.output().get(), POLLIN, 0});
      files.push_back({process.errors().get(), POLLIN, 0});
      const bool is_closed = !process.output().is_open() && !process.errors().is_open();
      files.push_back({is_closed ? process.end_fd() : -1, POLLIN, 0});
    }
    ::poll(files.data(), files.size(), static_cast<int>((seconds - watch.seconds()) * 1000) + 1);
    std::erase_if(waiting, [&](std::size_t i) { return sessions[i]->read_answer(&answers[i]); });
  }
  for (const std::size_t i : waiting) {
    answers[i].timed_out = true;
    answers[i].errors = sessions[i]->errors_;
  }
  ::signal(SIGPIPE, old_handler);
  return answers;
}

std::vector<std::string> serve_command(const std::string& host, bool is_here, RemoteShell shell,
                                       const std::string& program, const std::string& user) {
  if (is_here) return {program, "--serve"};
  if (shell == RemoteShell::kSrun) {
    return {"srun",       "--overlap",          "--quiet", "--nodes=1", "--ntasks=1",
            "--mpi=none", "--nodelist=" + host, program,   "--serve"};
  }
  std::vector<std::string> arguments = {"ssh", "-T", "-x"};
  for (const char* option :
       {"BatchMode=yes", "ConnectTimeout=5", "ControlMaster=no", "ControlPath=none"}) {
    arguments.insert(arguments.end(), {"-o", option});
  }
  if (!user.empty()) arguments.insert(arguments.end(), {"-l", user});
  arguments.insert(arguments.end(),
                   {host, fmt::format("exec {} --serve", os::shell_word(program))});
  return arguments;
}

void end_job_on(const std::vector<std::string>& hosts, const auth::Secret& secret,
                RemoteShell shell, const std::string& program) {
  constexpr double kSeconds = 8;
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<Session*> all;
  for (const std::string& host : hosts) {
    sessions.push_back(std::make_unique<Session>(host, serve_command(host, false, shell, program)));
    all.push_back(sessions.back().get());
  }
  const std::string line = fmt::format(R"({{"do":"end","secret":"{}"}})", secret.to_hex());
  ask(all, std::vector<std::string>(all.size(), line), kSeconds);
}

Failure explain(const std::string& host, const Answer& answer, const std::string& program) {
  const auto reported = [&](const char* text) {
    return answer.errors.find(text) != std::string::npos;
  };
  if (reported("cannot start ssh")) {
    return {
        "DDL-3-21",
        fmt::format("{} cannot be reached: ssh is not installed on this host. Install it (Debian: "
                    "openssh-client).",
                    host)};
  }
  if (reported("Could not resolve") || reported("Name or service not known") ||
      reported("Invalid node name")) {
    return {"DDL-3-20",
            fmt::format("Unknown host name {}. Check its spelling, or add it to /etc/hosts or DNS.",
                        host)};
  }
  if (reported("Permission denied")) {
    return {"DDL-3-22",
            fmt::format("{} asks for a password. Copy your key: ssh-copy-id {}", host, host)};
  }
  if (reported("Host key verification failed") || reported("REMOTE HOST IDENTIFICATION")) {
    return {"DDL-3-23",
            fmt::format("The ssh key of {} is unknown on this host, or has changed. Check "
                        "it once: ssh {} true",
                        host, host)};
  }
  const bool is_absent = answer.exit_code == 127 || answer.exit_code == 126;
  if (is_absent || reported("not found") || reported("No such file")) {
    return {"DDL-3-24",
            fmt::format("{} has no {}. Install Tutti there in the same directory, or use a "
                        "common file system.",
                        host, program)};
  }
  const std::string first_line = answer.errors.substr(0, answer.errors.find_first_of("\r\n"));
  if (reported("refused") || reported("timed out") || reported("No route") ||
      reported("unreachable") || reported("Connection closed") || reported("Connection reset") ||
      (answer.timed_out && answer.errors.empty())) {
    return {
        "DDL-3-21",
        fmt::format("{} did not answer on ssh{}. Check: ssh {} true. Is it up, and does sshd run?",
                    host, first_line.empty() ? "" : " (" + first_line + ")", host)};
  }
  return {"DDL-3-36",
          fmt::format(
              "{} was reached, but ddlrun did not work there: {}. Try: ssh {} {} "
              "--version",
              host, first_line.empty() ? fmt::format("exit code {}", answer.exit_code) : first_line,
              host, program)};
}

}  // namespace tutti::launch
