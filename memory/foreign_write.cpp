#include "memory/foreign_write.h"

#include "core/error.h"

namespace reprise {

std::string said(const StorageVersion& version) {
  if (version.clock == 0) return "never announced a write";
  const Writer& writer = version.writer;
  if (writer.step == 0) return fmt::format("last written by {}, outside the tape", writer.name);
  return fmt::format("last written by {} at node {} of step {}", writer.name, writer.sequence, writer.step);
}

void fail_other_bytes(const ReadLabel& label, const std::string& storage, const Region& region,
                      const StorageVersion& seen, const StorageVersion* now) {
  std::string stands =
      now ? fmt::format("the storage is at version {} ({})", now->clock, said(*now)) : "a replay has made them anew";
  fail(ErrorKind::replay,
       "[{}] expected operand {} of segment '{}' ({}, bytes {}) as at version {} ({}), got other bytes; {}. Someone "
       "wrote without passing a door: write through host_write(), or name the bytes in the op's updates.",
       label.op, label.operand, *label.segment ? label.segment : "(outside)", storage.empty() ? "a value" : storage,
       region.describe(), seen.clock, said(seen), stands);
}

}  // namespace reprise
