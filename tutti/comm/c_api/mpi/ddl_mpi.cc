#include "tutti/comm/c_api/mpi/ddl_mpi.h"

#include <array>
#include <map>
#include <string>
#include <utility>

#include "tutti/comm/c_api/ddl_job.h"
#include "tutti/comm/internal/calls.h"
#include "tutti/comm/transport/mpi/mpi_transport.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {
namespace {

DType dtype_of(MPI_Datatype type) {
  constexpr DType kLong = sizeof(long) == 8 ? DType::kI64 : DType::kI32;
  const std::array known = {
      std::pair{MPI_FLOAT, DType::kF32},   std::pair{MPI_DOUBLE, DType::kF64},
      std::pair{MPI_INT8_T, DType::kI8},   std::pair{MPI_SIGNED_CHAR, DType::kI8},
      std::pair{MPI_CHAR, DType::kI8},     std::pair{MPI_UINT8_T, DType::kU8},
      std::pair{MPI_BYTE, DType::kU8},     std::pair{MPI_UNSIGNED_CHAR, DType::kU8},
      std::pair{MPI_INT32_T, DType::kI32}, std::pair{MPI_INT, DType::kI32},
      std::pair{MPI_INT64_T, DType::kI64}, std::pair{MPI_LONG_LONG, DType::kI64},
      std::pair{MPI_LONG, kLong},
  };
  for (const auto& [theirs, ours] : known) {
    if (theirs == type) return ours;
  }
  throw ConfigError("DDL-4-62",
                    "ddl_allreduce_mpi does not know this MPI type; use MPI_FLOAT, MPI_DOUBLE or "
                    "an integer of 8, 32 or 64 bits.");
}

ReduceOp op_of(MPI_Op op) {
  const std::array known = {std::pair{MPI_SUM, ReduceOp::kSum}, std::pair{MPI_MIN, ReduceOp::kMin},
                            std::pair{MPI_MAX, ReduceOp::kMax},
                            std::pair{MPI_PROD, ReduceOp::kProduct}};
  for (const auto& [theirs, ours] : known) {
    if (theirs == op) return ours;
  }
  throw ConfigError("DDL-4-63",
                    "ddl_allreduce_mpi does not know this MPI operation; use MPI_SUM, MPI_MIN, "
                    "MPI_MAX or MPI_PROD.");
}

// Communicators created for one MPI communicator of the program, by option string. Stored as an attribute of the MPI
// communicator, so a new one at the same address does not match.
using Guests = std::map<std::string, Communicator*>;

int forget(MPI_Comm, int, void* guests, void*) {
  delete static_cast<Guests*>(guests);
  return MPI_SUCCESS;
}

Guests& guests_of(MPI_Comm communicator) {
  static int key = MPI_KEYVAL_INVALID;
  if (key == MPI_KEYVAL_INVALID) {
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, nullptr);
  }
  void* found = nullptr;
  int is_set = 0;
  MPI_Comm_get_attr(communicator, key, &found, &is_set);
  if (!is_set) {
    found = new Guests;
    MPI_Comm_set_attr(communicator, key, found);
  }
  return *static_cast<Guests*>(found);
}

Communicator& guest(MPI_Comm communicator, const std::string& text) {
  static Mutex mutex;
  const MutexLock lock(mutex);
  Guests& guests = guests_of(communicator);
  if (const auto found = guests.find(text); found != guests.end()) return *found->second;
  Options options = environment_options();
  apply_option_string(options, text, "ddl_allreduce_mpi");
  Communicator& made =
      DdlJob::instance().add_guest(Communicator::create(join_mpi(&communicator), options));
  guests[text] = &made;
  return made;
}

}  // namespace
}  // namespace tutti::comm

int ddl_allreduce_mpi(const char* options, void* buffer, size_t count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm communicator) {
  using namespace tutti::comm;
  return ddl_guard([&] {
    if (!mpi_is_running()) {
      throw StateError(
          "DDL-4-64 MPI is not running: call MPI_Init_thread before ddl_allreduce_mpi, and "
          "MPI_Finalize after ddl_finalize.");
    }
    require(communicator != MPI_COMM_NULL, "The communicator is MPI_COMM_NULL.");
    const tutti::Buffer data{buffer, ddl_count(count), dtype_of(type)};
    require(buffer != nullptr || count == 0, "The buffer is NULL, but has {} elements.", count);
    guest(communicator, options ? options : "").all_reduce(data, op_of(op));
  });
}
