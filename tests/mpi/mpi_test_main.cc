// Runs the same tests on every rank. Rank 0 reports them, the others only what failed on them.
#include "tests/mpi/mpi_test_main.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "tutti/comm/transport/mpi/mpi_transport.h"

namespace tutti::comm {
namespace {

std::unique_ptr<Transport> transport;

class FailuresOnly : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (!part.failed()) return;
    std::fprintf(stderr, "rank %d %s:%d: %s\n", transport->rank(), part.file_name(),
                 part.line_number(), part.summary());
  }
};

}  // namespace

Transport& mpi_under_test() {
  return *transport;
}

}  // namespace tutti::comm

int main(int argc, char** argv) {
  using tutti::comm::transport;
  testing::InitGoogleTest(&argc, argv);
  try {
    transport = tutti::comm::start_mpi();
  } catch (const tutti::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
  if (transport->rank() != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new tutti::comm::FailuresOnly);
  }
  const int code = RUN_ALL_TESTS();
  transport.reset();
  return code;
}
