// Large model support in the module tutti._torch.
#pragma once

#include <pybind11/pybind11.h>

namespace tutti::lms {

void bind_lms(pybind11::module_& module);

}  // namespace tutti::lms
