// Results as human-readable text and as rows for files.
#pragma once

#include <string>
#include <vector>

#include "bench/ddp/contest.h"
#include "bench/harness/row.h"

namespace tutti::bench {

std::string text_of(const DdpSettings& settings, const DdpOutcome& outcome);
std::vector<Row> rows_of(const DdpSettings& settings, const DdpOutcome& outcome);

}  // namespace tutti::bench
