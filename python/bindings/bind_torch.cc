// tutti._torch: Python bindings of the process group `ddl`. The package tutti.torch is its public interface.
#include <pybind11/chrono.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include "python/bindings/bind_lms.h"
#include "tutti/os/launcher_environment.h"
#include "tutti/torch_backend/shared_memory.h"
#include "tutti/torch_backend/world.h"

namespace tutti::torch_backend {
namespace {

using Milliseconds = std::chrono::milliseconds;
using Group = c10::intrusive_ptr<BackendBase>;

// id, host of rank 0, port, secret
using AddressTuple = std::optional<std::tuple<std::string, std::string, int, std::string>>;

std::optional<RendezvousAddress> address_of(const AddressTuple& address) {
  if (!address) return std::nullopt;
  return RendezvousAddress{std::get<0>(*address), std::get<1>(*address), std::get<2>(*address),
                           std::get<3>(*address)};
}

ProcessGroupDdl& ours(const Group& group) {
  auto* const found = dynamic_cast<ProcessGroupDdl*>(group.get());
  if (!found) throw py::type_error("this is not a process group of the backend ddl");
  return *found;
}

py::dict find_job() {
  const os::JobEnvironment job = os::find_job();
  py::dict found;
  found["rank"] = job.rank;
  found["size"] = job.size;
  found["by_mpi"] = job.kind == os::JobKind::kMpi;
  found["is_alone"] = job.kind == os::JobKind::kAlone;
  return found;
}

// Broadcasts a string from rank 0.
std::string broadcast_text(std::string text) {
  comm::Communicator& world = World::instance().communicator();
  auto size = static_cast<std::int64_t>(text.size());
  world.broadcast({&size, 1, DType::kI64}, 0, {.name = "size of text"});
  text.resize(size);
  world.broadcast({text.data(), size, DType::kU8}, 0, {.name = "text"});
  return text;
}

}  // namespace
}  // namespace tutti::torch_backend

PYBIND11_MODULE(_torch, module) {
  using namespace tutti::torch_backend;
  using Released = py::call_guard<py::gil_scoped_release>;
  module.doc() = "The process group of tutti.torch.";

  tutti::lms::bind_lms(module);
  module.def("find_job", &find_job);
  module.def(
      "connect",
      [](int rank, int size, const AddressTuple& address, Milliseconds timeout) {
        World::instance().connect(rank, size, address_of(address), timeout);
      },
      Released());
  module.def("broadcast_text", &broadcast_text, Released());
  module.def(
      "start",
      [](int rank, int size, const AddressTuple& address, Milliseconds timeout) {
        return World::instance().start(rank, size, address_of(address), timeout);
      },
      Released());
  module.def(
      "group",
      [](const std::vector<int>& ranks, Milliseconds timeout) {
        return World::instance().group(ranks, timeout);
      },
      Released());
  module.def(
      "abandon",
      [](const std::string& reason) { World::instance().communicator().abandon(reason); },
      Released());
  module.def("is_connected", [] { return World::instance().is_connected(); });
  module.def("shut_down", [] { World::instance().shut_down(); }, Released());
  module.def("description",
             [](const Group& group) { return ours(group).communicator()->description(); });
  module.def("check_form", [](const std::string& form) { tutti::comm::Codec::parse(form); });
  module.def("set_compression", [](const Group& group, const std::string& form) {
    ours(group).set_compression(tutti::comm::Codec::parse(form));
  });
  module.def(
      "average",
      [](const Group& group, const at::Tensor& tensor, const std::string& name,
         const std::string& form) {
        return ours(group).average(tensor, name, tutti::comm::Codec::parse(form));
      },
      Released());
  module.def("share", [](const at::Tensor& tensor) {
    return share(World::instance().communicator(), tensor);
  });
  module.def("is_shared", [](const at::Tensor& tensor) {
    return is_shared(World::instance().communicator(), tensor);
  });
  // `like` determines the element type.
  module.def("empty_shared", [](const std::vector<std::int64_t>& sizes, const at::Tensor& like) {
    return empty_shared(World::instance().communicator(), sizes, like.scalar_type());
  });
  module.def("allocate_shared", [](std::size_t least_bytes) {
    allocate_shared(World::instance().communicator(), least_bytes);
  });
}
