#include "core/storage.h"

#include "core/error.h"

namespace reprise {

namespace {
std::uint64_t next_serial() {
  static thread_local std::uint64_t serial = 0;
  return ++serial;
}
}  // namespace

Ref<Storage> Storage::create(Allocator& allocator, WriteObserver* observer, std::int64_t bytes, Category category) {
  Allocation allocation = allocator.allocate(bytes, category);
  auto* storage = new Storage;
  storage->allocation_ = allocation;
  storage->bytes_ = bytes;
  storage->allocator_ = &allocator;
  storage->observer_ = observer;
  storage->category_ = category;
  storage->serial_ = next_serial();
  return Ref<Storage>(storage);
}

void Storage::destroy(Storage* storage) noexcept {
  if (storage->observer_ && storage->ledger) storage->observer_->storage_dies(*storage);
  storage->allocator_->release(storage->allocation_, storage->category_);
  delete storage;
}

void Storage::announce(const Region& region, const Writer& writer) {
  if (constant_) fail(ErrorKind::internal, "[{}] expected a writable storage, got a constant", writer.name);
  if (obligations > 0) observer_->before_write(*this, region, writer);
  ++clock_;
  last_writer_ = writer;
}

const std::byte* Storage::host_read() {
  if (obligations > 0) observer_->before_host_access(*this);
  return allocation_.data;
}

std::byte* Storage::host_write(const Region& region, const char* who) {
  if (obligations > 0) observer_->before_host_access(*this);
  announce(region, Writer{who, 0});
  return allocation_.data;
}

const char* to_string(Category category) {
  static constexpr const char* kNames[kCategoryCount] = {"parameters", "gradients",  "optimiser",
                                                         "state",      "activations", "cotangents",
                                                         "preserved",  "workspace",  "data"};
  return kNames[static_cast<int>(category)];
}

const char* to_string(DeviceKind kind) { return kind == DeviceKind::cpu ? "cpu" : "cuda"; }

}  // namespace reprise
