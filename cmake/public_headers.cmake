# The public headers: all that is installed. Everything else is internal and may change at any time.
#
# The entry points are communicator.h (collectives), gradient_buckets.h and engine.h (fusion), glm/fit.h, tree/forest.h,
# tree/boosting.h, tree/predict/predictor.h (models), data/any_file.h (data files) and model/*.h (model files, fits by
# name). The others are what these include; the test `package` fails if one is missing. The C API installs its own.
set(TUTTI_PUBLIC_HEADERS
  tutti/comm/call_options.h
  tutti/comm/communicator.h
  tutti/comm/compression.h
  tutti/comm/options.h
  tutti/comm/work.h
  tutti/core/buffer.h
  tutti/core/dtype.h
  tutti/core/error.h
  tutti/core/options.h
  tutti/core/result.h
  tutti/fusion/bucket_plan.h
  tutti/fusion/call.h
  tutti/fusion/engine.h
  tutti/fusion/engine_statistics.h
  tutti/fusion/gradient_buckets.h
  tutti/fusion/message.h
  tutti/fusion/options.h
  tutti/learn/data/any_file.h
  tutti/learn/data/data_file.h
  tutti/learn/data/data_set.h
  tutti/learn/data/mapped_file.h
  tutti/learn/data/matrix.h
  tutti/learn/glm/fit.h
  tutti/learn/glm/problem/loss.h
  tutti/learn/glm/problem/options.h
  tutti/learn/model/options.h
  tutti/learn/model/predict.h
  tutti/learn/model/saved_model.h
  tutti/learn/model/train.h
  tutti/learn/tree/bins/bin_options.h
  tutti/learn/tree/bins/bins.h
  tutti/learn/tree/boosting.h
  tutti/learn/tree/forest.h
  tutti/learn/tree/model/model.h
  tutti/learn/tree/model/tree.h
  tutti/learn/tree/predict/predictor.h
  tutti/learn/tree/targets.h
  tutti/os/atomic_file.h
  tutti/topo/grid.h
  tutti/topo/identity.h
  tutti/topo/layout.h
)
