// The verbs of the program, in the order `reprise --help` lists them. A verb is one file, NAME.cpp beside this one with
// a function `Verb NAME_verb()`, and one line here.
#include "tools/cli/verb.h"

// clang-format off: one verb a line
#define REPRISE_VERBS(verb)                                                                                       \
  verb(train) verb(eval) verb(config) verb(plan) verb(explain) verb(contract) verb(check) verb(conform) verb(ops) \
      verb(plot) verb(compare) verb(export) verb(study) verb(report) verb(cohort) verb(bench) verb(doctor)        \
          verb(completion)
// clang-format on

namespace reprise {

#define REPRISE_DECLARE(name) Verb name##_verb();
REPRISE_VERBS(REPRISE_DECLARE)
#undef REPRISE_DECLARE

std::vector<Verb> all_verbs() {
  return {
#define REPRISE_LIST(name) name##_verb(),
      REPRISE_VERBS(REPRISE_LIST)
#undef REPRISE_LIST
  };
}

}  // namespace reprise
