// Parts of the module tutti._comm.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

namespace tutti::python {

// Runs `call` with the GIL released.
template <class F>
auto without_gil(F&& call) {
  const pybind11::gil_scoped_release release;
  return call();
}

// Binds handles, named calls and gradients.
void bind_fusion(pybind11::module_& module);

}  // namespace tutti::python
