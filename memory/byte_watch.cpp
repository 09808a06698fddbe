#include "memory/byte_watch.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/byte_hash.h"

namespace reprise {

namespace {

std::uint64_t hash_of_storage(Storage& storage) {
  const std::byte* bytes = storage.host_read();
  return bytes ? hash_bytes(bytes, static_cast<std::size_t>(storage.bytes())) : 0;
}

}  // namespace

void ByteWatch::note(std::string name, const Tensor& tensor) {
  if (!tensor.defined()) return;
  auto known = [&](const Noted& noted) { return noted.storage == tensor.storage_ref(); };
  if (std::any_of(noted_.begin(), noted_.end(), known)) return;
  noted_.push_back(
      {std::move(name), tensor.storage_ref(), tensor.storage().clock(), hash_of_storage(tensor.storage())});
}

std::string ByteWatch::difference() const {
  for (const Noted& noted : noted_) {
    Storage& storage = *noted.storage;
    if (std::find(allowed_.begin(), allowed_.end(), storage.serial()) != allowed_.end()) continue;
    if (hash_of_storage(storage) != noted.hash) {
      return fmt::format("{} has other bytes, at version {} instead of {} (last written by {})", noted.name,
                         storage.clock(), noted.clock, storage.clock() > 0 ? storage.last_writer().name : "nobody");
    }
    if (storage.clock() != noted.clock) {
      return fmt::format("{} was written, though with the same bytes, by {}", noted.name, storage.last_writer().name);
    }
  }
  return "";
}

}  // namespace reprise
