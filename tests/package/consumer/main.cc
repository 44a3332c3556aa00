// Uses communication and learning through the installed headers only.
#include <cstdio>
#include <span>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/learn/glm/fit.h"

int main() {
  const auto communicator = tutti::comm::Communicator::from_environment();
  std::vector<float> gradient(4, 3);
  communicator->all_reduce(tutti::Buffer::of(std::span(gradient)), tutti::ReduceOp::kSum);

  // y = 2 x + 1
  const float features[] = {0, 1, 2, 3};
  const double labels[] = {1, 3, 5, 7};
  tutti::learn::GlmOptions options;
  options.loss = tutti::learn::Loss::kSquared;
  const auto model = tutti::learn::fit(
      {.rows = 4, .columns = 1, .values = features, .row_stride = 1}, labels, {}, options);
  std::printf("%d %g %s\n", communicator->size(), gradient[0],
              model.coefficients[0] > 0 ? "rising" : "falling");
}
