#include "autograd/guard_errors.h"

#include "core/error.h"

namespace reprise {

void fail_undeclared_write(const Op& op, const char* pass, int inputs, const GuardDifference& at) {
  const GuardBlock& block = *at.block;
  std::string bytes = at.bytes.describe();
  if (*pass) {
    fail(ErrorKind::internal,
         "[{}] its backward writes bytes {} of {}. A backward may write to grad(i) and its workspace only.", op.name,
         bytes, block.name);
  }
  if (block.given) {
    fail(ErrorKind::internal,
         "[{}] writes bytes {} of {}, which a replay is given to read. Make a result only where is_given() is false.",
         op.name, bytes, block.name);
  }
  if (block.operand < 0) {
    fail(ErrorKind::internal,
         "[{}] writes bytes {} of {}, which is no operand. Hand it to the op and name it in .updates.", op.name, bytes,
         block.name);
  }
  if (block.operand >= inputs) {
    fail(ErrorKind::internal,
         "[{}] writes bytes {} of {}, which .region does not give. Return all bytes that are written from .region.",
         op.name, bytes, block.name);
  }
  fail(ErrorKind::internal, "[{}] writes bytes {} of {}, which .updates does not name. Add it to .updates.", op.name,
       bytes, block.name);
}

void fail_undeclared_read(const Op& op, const char* pass, const GuardBlock* block) {
  if (!block) {
    fail(ErrorKind::internal,
         "[{}]{} reads bytes that its contract does not name. Name every storage that it reads in .inputs.", op.name,
         pass);
  }
  if (*pass && block->saved) {
    fail(ErrorKind::internal,
         "[{}]{} reads bytes of {} that are not kept for it: outside its view, or the region that .region gives.",
         op.name, pass, block->name);
  }
  if (*pass) {
    fail(ErrorKind::internal, "[{}]{} reads {}, which .saves does not name for the wanted gradients. Add it to .saves.",
         op.name, pass, block->name);
  }
  if (block->operand >= 0) {
    fail(ErrorKind::internal,
         "[{}] reads bytes of {} outside the region that it declares. Return all bytes that are read from .region.",
         op.name, block->name);
  }
  fail(ErrorKind::internal,
       "[{}] reads {}, which its contract does not name. Hand it to the op and name it in .inputs.", op.name,
       block->name);
}

void fail_unwritten(const Op& op, const char* pass, const GuardDifference& at) {
  if (*pass) {
    fail(ErrorKind::internal,
         "[{}]{} leaves bytes {} of the {} unwritten, or adds to them. Write every element of grad(i), zeros included.",
         op.name, pass, at.bytes.describe(), at.block->name);
  }
  fail(ErrorKind::internal,
       "[{}] leaves bytes {} of {} unwritten, or computes with what was there. Write every element of each result.",
       op.name, at.bytes.describe(), at.block->name);
}

}  // namespace reprise
