// Implementation of ddl.h. Each function makes one call on a communicator; ddl_guard converts exceptions to codes.
#include "tutti/comm/c_api/ddl.h"

#include <array>
#include <cstring>
#include <memory>

#include "tutti/comm/c_api/ddl_job.h"
#include "tutti/comm/internal/calls.h"

struct ddl_request_state {
  tutti::comm::Work work;
};

namespace tutti::comm {
namespace {

using Use = DdlJob::Use;

DType dtype_of(DDL_Type type) {
  // In the order of DDL_Type.
  constexpr std::array kTypes = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16,
                                 DType::kI8,  DType::kU8,  DType::kI32, DType::kI64};
  const auto index = static_cast<std::size_t>(type);
  require(index < kTypes.size(), "Unknown type {}; use DDL_TYPE_FLOAT, DDL_TYPE_HALF, ...",
          static_cast<int>(type));
  return kTypes[index];
}

ReduceOp op_of(DDL_Op op) {
  constexpr std::array kOps = {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMin, ReduceOp::kMax,
                               ReduceOp::kProduct};
  const auto index = static_cast<std::size_t>(op);
  require(index < kOps.size(), "Unknown operation {}; use DDL_OP_SUM, DDL_OP_AVG, ...",
          static_cast<int>(op));
  return kOps[index];
}

template <class T>
T& checked(T* pointer, const char* what) {
  require(pointer != nullptr, "The {} is NULL.", what);
  return *pointer;
}

ConstBuffer input_of(const void* data, std::size_t count, DDL_Type type, int ranks = 1,
                     const char* what = "input") {
  const ConstBuffer buffer{data, ddl_count(count, ranks), dtype_of(type)};
  require(data != nullptr || count == 0, "The {} is NULL, but has {} elements.", what, count);
  return buffer;
}

Buffer output_of(void* data, std::size_t count, DDL_Type type, int ranks = 1) {
  const ConstBuffer buffer = input_of(data, count, type, ranks, "output");
  return {data, buffer.count, buffer.dtype};
}

// Runs `call` with the communicator of the group.
template <class Call>
int with_group(int group, Call&& call) noexcept {
  return ddl_guard([&] { call(*Use(DdlJob::instance(), group)); });
}

int copy(void* target, const void* source, std::size_t bytes) noexcept {
  return with_group(DDL_WORLD, [&](Communicator&) {
    if (ddl_count(bytes, 1, "bytes") == 0) return;
    std::memcpy(&checked(static_cast<std::byte*>(target), "target"),
                &checked(static_cast<const std::byte*>(source), "source"), bytes);
  });
}

}  // namespace
}  // namespace tutti::comm

using namespace tutti::comm;  // NOLINT: the names below are C's

int ddl_init(const char* options) {
  return ddl_guard([&] { DdlJob::instance().begin(options); });
}
int ddl_finalize(void) {
  return ddl_guard([] { DdlJob::instance().end(); });
}

int ddl_rank(int* rank) {
  return ddl_group_rank(DDL_WORLD, rank);
}
int ddl_size(int* size) {
  return ddl_group_size(DDL_WORLD, size);
}
int ddl_local_rank(int* rank) {
  return with_group(DDL_WORLD,
                    [&](Communicator& world) { checked(rank, "rank") = world.local_rank(); });
}
int ddl_local_size(int* size) {
  return with_group(DDL_WORLD,
                    [&](Communicator& world) { checked(size, "size") = world.local_size(); });
}

int64_t ddl_malloc(void** memory, size_t align, size_t bytes) {
  if (memory) *memory = nullptr;
  std::size_t usable = 0;
  const int code = with_group(DDL_WORLD, [&](Communicator& world) {
    void*& address = checked(memory, "pointer to the address");
    require(static_cast<int64_t>(bytes) >= 0, "Invalid number of bytes: {}.",
            static_cast<int64_t>(bytes));
    address = world.allocate(bytes, align == 0 ? 64 : align, &usable);
  });
  return code == DDL_SUCCESS ? static_cast<int64_t>(usable) : code;
}
int ddl_free(void* memory) {
  return with_group(DDL_WORLD, [&](Communicator& world) { world.free(memory); });
}
int ddl_memcpy_host_to_device(void* device, const void* host, size_t bytes) {
  return copy(device, host, bytes);
}
int ddl_memcpy_device_to_host(void* host, const void* device, size_t bytes) {
  return copy(host, device, bytes);
}
int ddl_memsync(void) {
  return with_group(DDL_WORLD, [](Communicator&) {});
}

int ddl_allreduce(void* buffer, size_t count, DDL_Type type, DDL_Op op) {
  return ddl_group_allreduce(DDL_WORLD, buffer, count, type, op);
}
int ddl_bcast(void* buffer, size_t count, DDL_Type type, int root) {
  return ddl_group_bcast(DDL_WORLD, buffer, count, type, root);
}
int ddl_reduce(const void* input, void* output, size_t count, DDL_Type type, DDL_Op op, int root) {
  return with_group(DDL_WORLD, [&](Communicator& world) {
    const bool is_root = world.rank() == root;
    world.reduce(input_of(input, count, type),
                 is_root ? output_of(output, count, type) : tutti::Buffer{}, op_of(op), root);
  });
}
int ddl_allgather(const void* input, void* output, size_t count, DDL_Type type) {
  return ddl_group_allgather(DDL_WORLD, input, output, count, type);
}
int ddl_reducescatter(const void* input, void* output, size_t count, DDL_Type type, DDL_Op op) {
  return ddl_group_reducescatter(DDL_WORLD, input, output, count, type, op);
}
int ddl_alltoall(const void* input, void* output, size_t count, DDL_Type type) {
  return with_group(DDL_WORLD, [&](Communicator& world) {
    world.all_to_all(input_of(input, count, type, world.size()),
                     output_of(output, count, type, world.size()));
  });
}
int ddl_gather(const void* input, void* output, size_t count, DDL_Type type, int root) {
  return with_group(DDL_WORLD, [&](Communicator& world) {
    const bool is_root = world.rank() == root;
    world.gather(input_of(input, count, type),
                 is_root ? output_of(output, count, type, world.size()) : tutti::Buffer{}, root);
  });
}
int ddl_scatter(const void* input, void* output, size_t count, DDL_Type type, int root) {
  return with_group(DDL_WORLD, [&](Communicator& world) {
    const bool is_root = world.rank() == root;
    world.scatter(is_root ? input_of(input, count, type, world.size()) : tutti::ConstBuffer{},
                  output_of(output, count, type), root);
  });
}
int ddl_barrier(void) {
  return ddl_group_barrier(DDL_WORLD);
}

int ddl_send(const void* buffer, size_t count, DDL_Type type, int peer, int tag) {
  return with_group(DDL_WORLD, [&](Communicator& world) {
    world.send(input_of(buffer, count, type), peer, tag);
  });
}
int ddl_recv(void* buffer, size_t count, DDL_Type type, int peer, int tag) {
  return with_group(DDL_WORLD, [&](Communicator& world) {
    world.receive(output_of(buffer, count, type), peer, tag);
  });
}

int ddl_iallreduce(void* buffer, size_t count, DDL_Type type, DDL_Op op, ddl_request* request) {
  if (request) *request = nullptr;
  return with_group(DDL_WORLD, [&](Communicator& world) {
    const tutti::Buffer data = output_of(buffer, count, type);
    checked(request, "request");
    auto state = std::make_unique<ddl_request_state>();
    state->work = world.all_reduce_async(data, data, op_of(op));
    *request = state.release();
  });
}
int ddl_wait(ddl_request* request) {
  return ddl_guard([&] {
    const std::unique_ptr<ddl_request_state> state(
        std::exchange(checked(request, "request"), nullptr));
    if (state) state->work.wait();
  });
}
int ddl_test(ddl_request* request, int* is_complete) {
  const int code = ddl_guard([&] {
    const ddl_request state = checked(request, "request");
    checked(is_complete, "pointer to the result") = !state || state->work.is_complete();
  });
  return code == DDL_SUCCESS && *is_complete ? ddl_wait(request) : code;
}

int ddl_split(ddl_group parent, int color, int key, ddl_group* group) {
  return with_group(parent, [&](Communicator& all) {
    checked(group, "pointer to the group") = -1;
    auto part = all.split(color, key);
    if (part) *group = DdlJob::instance().add_group(std::move(part));
  });
}
int ddl_group_free(ddl_group group) {
  return ddl_guard([&] { DdlJob::instance().remove_group(group); });
}
int ddl_group_rank(ddl_group group, int* rank) {
  return with_group(group, [&](Communicator& part) { checked(rank, "rank") = part.rank(); });
}
int ddl_group_size(ddl_group group, int* size) {
  return with_group(group, [&](Communicator& part) { checked(size, "size") = part.size(); });
}
int ddl_group_allreduce(ddl_group group, void* buffer, size_t count, DDL_Type type, DDL_Op op) {
  return with_group(group, [&](Communicator& part) {
    part.all_reduce(output_of(buffer, count, type), op_of(op));
  });
}
int ddl_group_bcast(ddl_group group, void* buffer, size_t count, DDL_Type type, int root) {
  return with_group(
      group, [&](Communicator& part) { part.broadcast(output_of(buffer, count, type), root); });
}
int ddl_group_allgather(ddl_group group, const void* input, void* output, size_t count,
                        DDL_Type type) {
  return with_group(group, [&](Communicator& part) {
    part.all_gather(input_of(input, count, type), output_of(output, count, type, part.size()));
  });
}
int ddl_group_reducescatter(ddl_group group, const void* input, void* output, size_t count,
                            DDL_Type type, DDL_Op op) {
  return with_group(group, [&](Communicator& part) {
    part.reduce_scatter(input_of(input, count, type, part.size()), output_of(output, count, type),
                        op_of(op));
  });
}
int ddl_group_barrier(ddl_group group) {
  return with_group(group, [](Communicator& part) { part.barrier(); });
}

const char* ddl_last_error(void) {
  return ddl_failure_text();
}

const char* ddl_error_string(int code) {
  switch (code) {
    case DDL_SUCCESS: return "success";
    case DDL_ERROR_CONFIG: return "invalid argument or unsupported combination";
    case DDL_ERROR_COMM: return "ranks disagree on an operation, or a rank has exited";
    case DDL_ERROR_TIMEOUT: return "timeout while waiting for another rank";
    case DDL_ERROR_MEMORY: return "memory could not be allocated";
    case DDL_ERROR_IO: return "a file, socket or process operation failed";
    case DDL_ERROR_STATE: return "not between ddl_init and ddl_finalize";
    case DDL_ERROR_UNKNOWN: return "unknown error";
    default: return "invalid error code";
  }
}

const char* ddl_version(void) {
  return TUTTI_VERSION;
}
