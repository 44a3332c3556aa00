// Sends random input to every listener of ddlrun. TUTTI_FUZZ_INPUTS sets the number of inputs per listener.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "tutti/launch/job/job_ranks.h"
#include "tutti/launch/net/network.h"
#include "tutti/launch/placement/placement.h"
#include "tutti/launch/probe/link_probe.h"

namespace tutti::launch {
namespace {

int input_count() {
  const char* const text = std::getenv("TUTTI_FUZZ_INPUTS");
  return text ? std::atoi(text) : 300;
}

// Handshakes, frames, JSON and noise: complete, truncated and corrupted.
std::string make_input(std::mt19937& random) {
  std::string input;
  switch (random() % 5) {
    case 0: input = "TUTTI-1\n" + std::string(16, 'n') + std::string(32, 'm'); break;
    case 1: input = encode('H', R"({"key":5})"); break;
    case 2: input = encode(Hello{0, 1, 2, "boot"}) + encode(Exit{1, 0, 3, false}); break;
    case 3: input = encode(kOutput, std::string(random() % 300, 'o')); break;
    default: input = std::string(random() % 200, '\0'); break;
  }
  for (std::uint32_t i = random() % 8; i > 0 && !input.empty(); --i) {
    input[random() % input.size()] = static_cast<char>(random());
  }
  input.resize(random() % 4 ? input.size() : random() % (input.size() + 1));
  return input;
}

// Connects and sends. Resets the connection instead of closing it, so no port stays in TIME_WAIT.
void send_input(int port, const std::string& input) {
  const os::UniqueFd socket = connect_to("127.0.0.1", port, 60, nullptr);
  const linger reset{1, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  send_all(socket.get(), input.data(), input.size());
}

class Loop {
 public:
  explicit Loop(const JobSpec& spec)
      : folder_(testing::TempDir()), output_(folder_), ranks_(spec, folder_, output_, events()) {}
  ~Loop() { std::filesystem::remove_all(folder_.path()); }
  int port() const { return std::stoi(ranks_.listen_addresses().substr(10)); }  // "127.0.0.1 N"
  bool has_connected(int rank = 0) const { return ranks_.has_connected(rank); }
  void step(int milliseconds) {
    std::vector<pollfd> files;
    ranks_.add_files(&files);
    ::poll(files.data(), files.size(), milliseconds);
    ranks_.handle(files);
  }
  int exits = 0, losses = 0;

 private:
  JobRanks::Events events() {
    return {.exited = [this](const RankExit&) { ++exits; },
            .ended = [](int) {},
            .lost = [this](int) { ++losses; }};
  }
  runs::JobFolder folder_;
  JobOutput output_;
  JobRanks ranks_;
};

JobSpec job_of(int ranks) {
  return {.addresses = {"127.0.0.1"},
          .secret = auth::Secret::generate(),
          .rankfile = place({{"a"}}, topo::synthetic_machine("core:1 pu:1"),
                            {.ranks = ranks, .oversubscribe = true})};
}

TEST(ListenerFuzz, NoInputEndsAJobOrKeepsAnAgentOut) {
  const JobSpec spec = job_of(1);
  Loop loop(spec);
  std::mt19937 random(1);
  for (int i = 0; i < input_count(); ++i) {
    send_input(loop.port(), make_input(random));
    loop.step(0);
  }
  EXPECT_EQ(loop.exits + loop.losses, 0);
  EXPECT_FALSE(loop.has_connected());

  const os::UniqueFd agent = connect_to("127.0.0.1", loop.port(), 60, nullptr);
  auth::Handshake handshake(spec.secret, auth::Role::kConnector, kAgentPurpose);
  while (handshake.advance(agent.get()) == auth::Handshake::State::kInProgress) loop.step(1);
  ASSERT_EQ(handshake.state(), auth::Handshake::State::kAuthenticated);
  const std::string hello = encode(Hello{0, 1, 2, "boot"});
  ASSERT_TRUE(send_all(agent.get(), hello.data(), hello.size()));
  while (!loop.has_connected()) loop.step(1000);
}

TEST(Listener, AdmitsAllAgentsOfALargeJobAtOnce) {
  constexpr int kRanks = 300;
  const JobSpec spec = job_of(kRanks);
  Loop loop(spec);
  std::vector<os::UniqueFd> agents;
  std::vector<auth::Handshake> handshakes;
  for (int rank = 0; rank < kRanks; ++rank) {
    agents.push_back(connect_to("127.0.0.1", loop.port(), 60, nullptr));
    handshakes.emplace_back(spec.secret, auth::Role::kConnector, kAgentPurpose);
  }
  const auto is_open = [](const auth::Handshake& one) {
    return one.state() == auth::Handshake::State::kInProgress;
  };
  while (std::ranges::any_of(handshakes, is_open)) {
    for (std::size_t i = 0; i < agents.size(); ++i) handshakes[i].advance(agents[i].get());
    loop.step(1);
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    ASSERT_EQ(handshakes[at].state(), auth::Handshake::State::kAuthenticated) << rank;
    const std::string hello = encode(Hello{rank, 1, 2, "boot"});
    ASSERT_TRUE(send_all(agents[at].get(), hello.data(), hello.size()));
  }
  while (!loop.has_connected(kRanks - 1)) loop.step(1000);
}

TEST(ListenerFuzz, NoInputEndsTheTrafficService) {
  const auth::Secret secret = auth::Secret::generate();
  LinkProbeServer service(secret, {"127.0.0.1"});
  std::mt19937 random(2);
  for (int i = 0; i < input_count(); ++i) send_input(service.ports()[0], make_input(random));
  EXPECT_EQ(probe_link("127.0.0.1", service.ports()[0], secret, 0).error, "");
}

}  // namespace
}  // namespace tutti::launch
