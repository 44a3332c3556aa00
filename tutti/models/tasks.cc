#include "tutti/models/tasks.h"

#include "tutti/models/cases.h"
#include "tutti/models/science/hep/task.h"
#include "tutti/models/script/task.h"

namespace tutti::models {

std::unique_ptr<train::Task> make_task(std::string_view case_name, const Options& options) {
  find_case(case_name);
  if (case_name == "script") return script::make_task(options);
  return hep::make_task(options);
}

}  // namespace tutti::models
