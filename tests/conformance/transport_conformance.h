// Conformance suite of all transports. A program includes it once and instantiates it for the
// worlds it can create:
//   INSTANTIATE_TEST_SUITE_P(Thread, TransportConformance, testing::Values(thread_world(2)),
//   world_name);
// and each test runs its body once per rank of that world, on threads, in forked processes or under
// mpirun.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tutti/comm/transport/transport.h"

namespace tutti::comm {

using RankBody = std::function<void(Transport&)>;

struct World {
  std::string name;
  std::function<void(const RankBody&)> run;
  // False if a send in flight cannot be cancelled (MPI).
  bool cancels_sends = true;
};

inline std::ostream& operator<<(std::ostream& out, const World& world) {
  return out << world.name;
}
inline std::string world_name(const testing::TestParamInfo<World>& info) {
  return info.param.name;
}

class TransportConformance : public testing::TestWithParam<World> {
 protected:
  using Transfers = std::vector<std::unique_ptr<Transfer>>;
  using Bytes = std::vector<std::uint8_t>;
#ifdef __SANITIZE_THREAD__
  static constexpr std::size_t kLarge = 1024 * 1024 + 3;
#else
  static constexpr std::size_t kLarge = 10 * 1024 * 1024 + 3;
#endif

  void run(const RankBody& body) { GetParam().run(body); }

  static int right_of(const Transport& t) { return (t.rank() + 1) % t.size(); }
  static int left_of(const Transport& t) { return (t.rank() + t.size() - 1) % t.size(); }

  // Bytes determined by sender, receiver, channel and offset in the message.
  static Bytes content(int from, int to, int channel, std::size_t size) {
    Bytes bytes(size);
    const std::size_t seed = 17u * from + 31u * to + 101u * channel + size;
    for (std::size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<std::uint8_t>(seed + i + (i >> 8));
    return bytes;
  }

  // Drives all transfers to completion. The limit only turns a hang into a failure.
  static void finish(const Transfers& transfers) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::vector<bool> is_complete(transfers.size());
    for (std::size_t through = 0; through < transfers.size();) {
      for (std::size_t i = 0; i < transfers.size(); ++i) {
        bool finished = is_complete[i];
        if (finished) continue;
        const Result result = transfers[i]->test(&finished);
        ASSERT_TRUE(result.is_ok()) << result.code() << " " << result.message();
        is_complete[i] = finished;
        through += finished;
      }
      ASSERT_LT(std::chrono::steady_clock::now(), deadline)
          << through << " of " << transfers.size() << " messages came through";
      std::this_thread::yield();
    }
  }

  static std::vector<OutOfBandMessage> collect_oob_messages(Transport& t, std::size_t count) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::vector<OutOfBandMessage> messages;
    while (messages.size() < count && std::chrono::steady_clock::now() < deadline) {
      if (auto message = t.next_oob_message()) messages.push_back(*message);
      std::this_thread::yield();
    }
    return messages;
  }
};

TEST_P(TransportConformance, KnowsItself) {
  run([](Transport& t) {
    ASSERT_GE(t.rank(), 0);
    ASSERT_LT(t.rank(), t.size());
    EXPECT_FALSE(t.host_name().empty());
    EXPECT_FALSE(std::string(t.name()).empty());
    const auto ranks = t.exchange(std::to_string(t.rank()));
    EXPECT_EQ(std::set(ranks.begin(), ranks.end()).size(), static_cast<std::size_t>(t.size()));
  });
}

TEST_P(TransportConformance, ExchangesUnequalSizesAgainAndAgain) {
  run([](Transport& t) {
    const auto text = [](int rank, int round) {
      return std::string(static_cast<std::size_t>(rank) * 1000 * (round + 1),
                         char('a' + rank + round));
    };
    for (int round = 0; round < 4; ++round) {
      const auto all = t.exchange(text(t.rank(), round));
      ASSERT_EQ(all.size(), static_cast<std::size_t>(t.size()));
      for (int rank = 0; rank < t.size(); ++rank) EXPECT_EQ(all[rank], text(rank, round));
    }
  });
}

TEST_P(TransportConformance, KeepsTheOrderOfAChannel) {
  run([](Transport& t) {
    const auto size_of_message = [](int i) { return static_cast<std::size_t>(i * 37 % 5000); };
    constexpr int kMessages = 150;
    std::vector<Bytes> sent, received;
    Transfers transfers;
    for (int i = 0; i < kMessages; ++i) {
      sent.push_back(content(t.rank(), right_of(t), i, size_of_message(i)));
      received.emplace_back(size_of_message(i));
      transfers.push_back(t.send(right_of(t), 3, sent[i].data(), sent[i].size()));
    }
    for (Bytes& bytes : received) {
      transfers.push_back(t.receive(left_of(t), 3, bytes.data(), bytes.size()));
    }
    finish(transfers);
    for (int i = 0; i < kMessages; ++i) {
      EXPECT_EQ(received[i], content(left_of(t), t.rank(), i, size_of_message(i)))
          << "message " << i;
    }
  });
}

TEST_P(TransportConformance, ChannelsMayCross) {
  run([](Transport& t) {
    const std::vector<int> channels = {0, 1, 2, 7, 4095, 4096, 65536, Transport::kMaxChannel};
    constexpr std::size_t kBytes = 100'000;
    std::vector<Bytes> sent, received;
    Transfers transfers;
    for (const int channel : channels) {
      sent.push_back(content(t.rank(), right_of(t), channel, kBytes));
      transfers.push_back(t.send(right_of(t), channel, sent.back().data(), kBytes));
    }
    for (std::size_t i = channels.size(); i-- > 0;) {
      received.emplace_back(kBytes);
      transfers.push_back(t.receive(left_of(t), channels[i], received.back().data(), kBytes));
    }
    finish(transfers);
    for (std::size_t i = 0; i < channels.size(); ++i) {
      const int channel = channels[channels.size() - 1 - i];
      EXPECT_EQ(received[i], content(left_of(t), t.rank(), channel, kBytes))
          << "channel " << channel;
    }
  });
}

TEST_P(TransportConformance, CarriesEverySize) {
  run([](Transport& t) {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{4097},
          std::size_t{65536}, std::size_t{262'145}, kLarge}) {
      const Bytes mine = content(t.rank(), right_of(t), 1, size);
      Bytes received(size);
      Transfers transfers;
      transfers.push_back(t.receive(left_of(t), 1, received.data(), size));
      transfers.push_back(t.send(right_of(t), 1, mine.data(), size));
      finish(transfers);
      EXPECT_EQ(received, content(left_of(t), t.rank(), 1, size)) << size << " bytes";
    }
  });
}

TEST_P(TransportConformance, LeavesTheBytesAroundAReceiveAlone) {
  run([](Transport& t) {
    const Bytes mine(1000, 1);
    Bytes received(1002, 9);
    Transfers transfers;
    transfers.push_back(t.send(right_of(t), 1, mine.data(), mine.size()));
    transfers.push_back(t.receive(left_of(t), 1, received.data() + 1, mine.size()));
    finish(transfers);
    EXPECT_EQ(received.front(), 9);
    EXPECT_EQ(received.back(), 9);
  });
}

TEST_P(TransportConformance, SendsDoNotWaitForReceives) {
  run([](Transport& t) {
    const Bytes mine = content(t.rank(), right_of(t), 1, kLarge);
    Bytes received(kLarge);
    Transfers transfers;
    transfers.push_back(t.send(right_of(t), 1, mine.data(), kLarge));
    t.exchange("all ranks have sent, none has received");
    transfers.push_back(t.receive(left_of(t), 1, received.data(), kLarge));
    finish(transfers);
    EXPECT_EQ(received, content(left_of(t), t.rank(), 1, kLarge));
  });
}

TEST_P(TransportConformance, ReceivesMayComeFirst) {
  run([](Transport& t) {
    const Bytes mine = content(t.rank(), right_of(t), 1, kLarge);
    Bytes received(kLarge);
    Transfers transfers;
    transfers.push_back(t.receive(left_of(t), 1, received.data(), kLarge));
    bool finished = true;
    ASSERT_TRUE(transfers[0]->test(&finished).is_ok());
    EXPECT_FALSE(finished);
    t.exchange("all ranks receive, none has sent");
    transfers.push_back(t.send(right_of(t), 1, mine.data(), kLarge));
    finish(transfers);
    EXPECT_EQ(received, content(left_of(t), t.rank(), 1, kLarge));
  });
}

TEST_P(TransportConformance, AllPairsTalkAtOnce) {
  run([](Transport& t) {
    const auto size_between = [](int from, int to) {
      return static_cast<std::size_t>(1 + from * 300'007 + to * 100'003);
    };
    std::vector<Bytes> sent(t.size()), received(t.size());
    Transfers transfers;
    for (int peer = 0; peer < t.size(); ++peer) {
      if (peer == t.rank()) continue;
      sent[peer] = content(t.rank(), peer, 2, size_between(t.rank(), peer));
      transfers.push_back(t.send(peer, 2, sent[peer].data(), sent[peer].size()));
      received[peer].resize(size_between(peer, t.rank()));
      transfers.push_back(t.receive(peer, 2, received[peer].data(), received[peer].size()));
    }
    finish(transfers);
    for (int peer = 0; peer < t.size(); ++peer) {
      if (peer == t.rank()) continue;
      EXPECT_EQ(received[peer], content(peer, t.rank(), 2, size_between(peer, t.rank())));
    }
  });
}

// A missed wake-up is a hang: nothing else ends these waits.
TEST_P(TransportConformance, AWaitEndsOnArrivalWhicheverThreadReceives) {
  run([](Transport& t) {
    const auto exchange = [&t](int channel) {
      for (int round = 0; round < 100; ++round) {
        Bytes arrived(8);
        const Bytes mine = content(t.rank(), right_of(t), channel, 8);
        const auto sending = t.send(right_of(t), channel, mine.data(), mine.size());
        const auto receiving = t.receive(left_of(t), channel, arrived.data(), arrived.size());
        for (bool sent = false, received = false; !sent || !received;) {
          const std::uint64_t seen = t.events();
          ASSERT_TRUE(sent || sending->test(&sent).is_ok());
          ASSERT_TRUE(received || receiving->test(&received).is_ok());
          if (sent && received) break;
          if (!t.wait(seen, 600'000'000'000)) std::this_thread::yield();
        }
        ASSERT_EQ(arrived, content(left_of(t), t.rank(), channel, 8));
      }
    };
    std::thread other(exchange, 8);
    exchange(9);
    other.join();
  });
}

TEST_P(TransportConformance, OobMessagesReachAllRanksInOrder) {
  run([](Transport& t) {
    EXPECT_FALSE(t.next_oob_message().has_value());
    t.exchange("no rank has written yet");
    constexpr int kEach = 20;
    const auto text = [](int from, int i) {
      return std::to_string(from) + std::string(i * 10, '.');
    };
    for (int i = 0; i < kEach; ++i) {
      for (int peer = 0; peer < t.size(); ++peer) {
        if (peer != t.rank()) t.notify(peer, text(t.rank(), i));
      }
    }
    const auto messages = collect_oob_messages(t, static_cast<std::size_t>(kEach) * (t.size() - 1));
    EXPECT_EQ(messages.size(), static_cast<std::size_t>(kEach) * (t.size() - 1));
    std::vector<int> seen(t.size());
    for (const OutOfBandMessage& message : messages) {
      EXPECT_EQ(message.text, text(message.from, seen[message.from]++));
    }
    t.exchange("everyone has read");
  });
}

TEST_P(TransportConformance, OobMessagesPassWhileAnotherThreadSends) {
  run([](Transport& t) {
    std::size_t read = 0;
    std::thread monitor([&] {
      for (int i = 0; i < 20; ++i) t.notify(right_of(t), "still here");
      read = collect_oob_messages(t, 20).size();
    });
    for (int round = 0; round < 40; ++round) {
      const Bytes mine = content(t.rank(), right_of(t), round, 30'000);
      Bytes received(mine.size());
      Transfers transfers;
      transfers.push_back(t.receive(left_of(t), 5, received.data(), received.size()));
      transfers.push_back(t.send(right_of(t), 5, mine.data(), mine.size()));
      finish(transfers);
      EXPECT_EQ(received, content(left_of(t), t.rank(), round, 30'000));
    }
    monitor.join();
    EXPECT_EQ(read, 20u);
    t.exchange("everyone has read");
  });
}

TEST_P(TransportConformance, AReceiveGivenUpLeavesItsMessageToTheNext) {
  run([](Transport& t) {
    Bytes forgotten(1000, 7);
    {
      auto transfer = t.receive(left_of(t), 4, forgotten.data(), forgotten.size());
      bool finished = true;
      ASSERT_TRUE(transfer->test(&finished).is_ok());
      ASSERT_FALSE(finished);
    }
    t.exchange("all ranks have cancelled, none has sent");
    const Bytes mine = content(t.rank(), right_of(t), 4, 1000);
    Bytes received(1000);
    Transfers transfers;
    transfers.push_back(t.send(right_of(t), 4, mine.data(), mine.size()));
    transfers.push_back(t.receive(left_of(t), 4, received.data(), received.size()));
    finish(transfers);
    EXPECT_EQ(received, content(left_of(t), t.rank(), 4, 1000));
    EXPECT_EQ(forgotten, Bytes(1000, 7));
  });
}

TEST_P(TransportConformance, ASendGivenUpDoesNotDisturbOtherChannels) {
  if (!GetParam().cancels_sends) GTEST_SKIP() << "this transport cannot cancel a send";
  run([](Transport& t) {
    {
      auto doomed = std::make_unique<Bytes>(content(t.rank(), right_of(t), 1, kLarge));
      auto transfer = t.send(right_of(t), 1, doomed->data(), kLarge);
      // Network buffers may already hold the whole message; then there is nothing to cancel.
      bool finished = true;
      ASSERT_TRUE(transfer->test(&finished).is_ok());
    }
    const Bytes mine = content(t.rank(), right_of(t), 2, kLarge);
    Bytes received(kLarge);
    Transfers transfers;
    transfers.push_back(t.send(right_of(t), 2, mine.data(), kLarge));
    transfers.push_back(t.receive(left_of(t), 2, received.data(), kLarge));
    finish(transfers);
    EXPECT_EQ(received, content(left_of(t), t.rank(), 2, kLarge));
  });
}

}  // namespace tutti::comm
