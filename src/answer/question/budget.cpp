#include "answer/question/budget.h"

#include "parallel/for_each_index.h"

namespace dovetail::answer {

int SearchBudget::thread_count() const { return threads.value_or(parallel::default_thread_count()); }

}  // namespace dovetail::answer
