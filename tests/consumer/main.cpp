#include "recall.h"
#include "tools/cli/program.h"

int main(int argc, char** argv) {
  recall::register_recall();
  return reprise::run_program(argc, argv);
}
