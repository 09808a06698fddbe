// The program `reprise`.
#include "tools/cli/program.h"

int main(int argc, char** argv) { return reprise::run_program(argc, argv); }
