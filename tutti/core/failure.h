// What a program says, and how it ends, when something was thrown up to its `main`.
#pragma once

#include <exception>
#include <string>

namespace tutti {

// The sentence for people. What the standard library throws about files gets a code and a way out.
std::string failure_text(const std::exception& error);
// 2: what was asked for cannot be; 1: it could, and failed.
int exit_code(const std::exception& error);

}  // namespace tutti
