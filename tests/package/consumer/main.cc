// Uses each installed library a little, so that a missing one does not link.
#include <cstdio>

#include "tutti/comm/kernels/kernels.h"
#include "tutti/core/bytes.h"
#include "tutti/plan/plan.h"
#include "tutti/topo/machine.h"

int main() {
  const float three = 3;
  float sum = 0;
  const void* sources[] = {&three, &three};
  void* targets[] = {&sum};
  tutti::comm::reduce(tutti::DType::kF32, tutti::ReduceOp::kSum, sources, targets, 1);
  std::printf("%s %s %g %d\n", tutti::format_bytes(1024).c_str(),
              tutti::plan::name_of(tutti::plan::Collective::kAllReduce), sum,
              tutti::topo::synthetic_machine("pack:2 core:4 pu:1").cpu_count());
}
