// The threads of a fit, by their former name.
#pragma once

#include "tutti/learn/threads.h"
