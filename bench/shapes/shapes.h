// `tutti bench shapes`: every estimator of tutti.learn on data of many shapes, compared with other libraries.
#pragma once

namespace tutti::bench {

int run_shapes(int argc, char** argv);

}  // namespace tutti::bench
