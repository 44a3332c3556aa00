#include "tutti/launch/probe/session.h"

#include <gmock/gmock.h>

#include <sstream>

#include "tutti/core/test_error.h"
#include "tutti/launch/probe/link_probe.h"
#include "tutti/launch/probe/report.h"
#include "tutti/os/environment.h"

namespace tutti::launch {
namespace {

using testing::HasSubstr;

std::string answer_to(const std::string& line) {
  std::istringstream in(line + "\n");
  std::ostringstream out;
  serve(in, out, "1.2.3");
  return out.str();
}

TEST(Serve, ReportsThisHost) {
  const Question question{.path = "/nowhere:/bin:/usr/bin",
                          .folder = "/etc",
                          .program = "sh",
                          .files = {"passwd", "no_such.py"},
                          .peers = {"localhost", "no-such-host.invalid"}};
  const Report report = parse_report(answer_to(to_json(question)));
  EXPECT_EQ(report.version, "1.2.3");
  EXPECT_EQ(report.name, os::host_name());
  EXPECT_EQ(report.program, "/bin/sh");
  EXPECT_TRUE(report.has_folder);
  EXPECT_EQ(report.missing_files, (std::vector<std::string>{"no_such.py"}));
  EXPECT_GT(report.machine.core_count(), 0);
  EXPECT_GT(report.free_port, 0);
  EXPECT_EQ(report.routes.at("localhost").address, "127.0.0.1");
  EXPECT_EQ(report.routes.at("no-such-host.invalid").address, "");
}

TEST(Serve, ABusyPortIsSeen) {
  const os::UniqueFd taken = listen_at("127.0.0.1");
  const Question question{.folder = "/no/such/folder", .port = port_of(taken)};
  const Report report = make_report(question, "");
  EXPECT_TRUE(report.port_is_busy);
  EXPECT_NE(report.free_port, port_of(taken));
  EXPECT_FALSE(report.has_folder);
}

TEST(Serve, MalformedRequestsAreAnswered) {
  for (const char* line :
       {"", "{", "{}", R"({"do":"dance"})", R"({"do":"report"})", R"({"do":"measure","address":5})",
        R"({"do":"listen","secret":"00","addresses":["127.0.0.1"]})"}) {
    EXPECT_THAT(answer_to(line), HasSubstr("{\"error\":")) << line;
  }
  EXPECT_THAT(error_of([] { parse_report("{}"); }), HasSubstr("DDL-3-36"));
}

class TrafficTest : public testing::Test {
 protected:
  const auth::Secret secret_ = auth::Secret::generate();
};

TEST_F(TrafficTest, IsMeasuredOverTheLoopback) {
  LinkProbeServer service(secret_, {"127.0.0.1"});
  const LinkSpeed quick = probe_link("127.0.0.1", service.ports()[0], secret_, 0);
  EXPECT_EQ(quick.error, "");
  EXPECT_GT(quick.latency, 0);
  EXPECT_EQ(quick.bandwidth, 0);
  EXPECT_GT(probe_link("127.0.0.1", service.ports()[0], secret_, 0.02).bandwidth, 0);
}

TEST_F(TrafficTest, NeedsTheSecretAndAListener) {
  int port = 0;
  {
    LinkProbeServer service(secret_, {"127.0.0.1"});
    port = service.ports()[0];
    EXPECT_EQ(probe_link("127.0.0.1", port, auth::Secret::generate(), 0).error,
              "the connection broke");
  }
  EXPECT_EQ(probe_link("127.0.0.1", port, secret_, 0).error, "Connection refused");
}

TEST_F(TrafficTest, ASilentClientDoesNotDelayOthers) {
  LinkProbeServer service(secret_, {"127.0.0.1"});
  const os::UniqueFd silent = connect_to("127.0.0.1", service.ports()[0], 60, nullptr);
  EXPECT_EQ(probe_link("127.0.0.1", service.ports()[0], secret_, 0).error, "");
}

TEST_F(TrafficTest, ListensOnTheGivenAddressesOnly) {
  EXPECT_THAT(error_of([&] { LinkProbeServer(secret_, {"192.0.2.200"}); }), HasSubstr("DDL-3-32"));
}

std::vector<Answer> ask_one(const std::vector<std::string>& command, double seconds = 20) {
  Session session("h", command);
  return ask({&session}, {"hello"}, seconds);
}

TEST(Session, OutputOfLoginScriptsIsSkipped) {
  const auto answers =
      ask_one({"sh", "-c", "echo Welcome; read word; echo {$word}; cat >/dev/null"});
  EXPECT_EQ(answers[0].line, "{hello}");
}

TEST(Session, AnExitWithoutReplyReportsTheLastOutput) {
  const auto answers = ask_one({"sh", "-c", "echo Permission denied >&2; exit 255"});
  EXPECT_FALSE(answers[0].is_there);
  EXPECT_EQ(answers[0].exit_code, 255);
  EXPECT_EQ(explain("h", answers[0], "ddlrun").code, "DDL-3-22");
}

TEST(Session, SilenceIsATimeout) {
  const auto answers = ask_one({"sleep", "60"}, 0.1);
  EXPECT_TRUE(answers[0].timed_out);
  EXPECT_EQ(explain("h", answers[0], "ddlrun").code, "DDL-3-21");
}

TEST(Session, SshErrorsAreExplained) {
  const auto code = [](const char* words, int exit_code = 255) {
    return explain("h", {.errors = words, .exit_code = exit_code}, "/opt/ddlrun").code;
  };
  EXPECT_EQ(code("ssh: Could not resolve hostname h: Name or service not known"), "DDL-3-20");
  EXPECT_EQ(code("ssh: connect to host h port 22: Connection refused"), "DDL-3-21");
  EXPECT_EQ(code("cannot start ssh: No such file or directory", 127), "DDL-3-21");
  EXPECT_EQ(code("ssh: connect to host h port 22: Connection timed out"), "DDL-3-21");
  EXPECT_EQ(code("me@h: Permission denied (publickey)."), "DDL-3-22");
  EXPECT_EQ(code("Host key verification failed."), "DDL-3-23");
  EXPECT_EQ(code("bash: line 1: /opt/ddlrun: No such file or directory", 127), "DDL-3-24");
  EXPECT_EQ(code("error while loading shared libraries: libhwloc.so.15", 1), "DDL-3-36");
  EXPECT_EQ(code("", 3), "DDL-3-36");
}

TEST(Session, CommandsThatServe) {
  EXPECT_EQ(serve_command("h", true, RemoteShell::kSsh, "/d"),
            (std::vector<std::string>{"/d", "--serve"}));
  const auto ssh = serve_command("h", false, RemoteShell::kSsh, "/my dir/d");
  EXPECT_EQ(ssh.front(), "ssh");
  EXPECT_EQ(ssh.back(), "exec '/my dir/d' --serve");
  EXPECT_EQ(serve_command("h", false, RemoteShell::kSrun, "/d").front(), "srun");
  EXPECT_THAT(serve_command("h", false, RemoteShell::kSsh, "/d", "alice"),
              testing::IsSupersetOf({"-l", "alice", "h"}));
}

}  // namespace
}  // namespace tutti::launch
