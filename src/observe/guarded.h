// A value that can be reached only while its mutex is held, on every compiler and without annotations.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace perdure::observe {

template <typename T>
class Guarded {
 public:
  // Holds the mutex as long as it lives; keep it in the smallest scope that does the work.
  template <typename Value>
  class [[nodiscard]] Locked {
   public:
    Locked(std::mutex& mutex, Value& value) : lock_(mutex), value_(value) {}
    Value* operator->() const noexcept { return std::addressof(value_); }
    Value& operator*() const noexcept { return value_; }

   private:
    std::lock_guard<std::mutex> lock_;
    Value& value_;
  };

  template <typename... Args>
  explicit Guarded(Args&&... args) : value_(std::forward<Args>(args)...) {}

  Locked<T> lock() { return Locked<T>(mutex_, value_); }
  Locked<const T> lock() const { return Locked<const T>(mutex_, value_); }

 private:
  mutable std::mutex mutex_;
  T value_;
};

}  // namespace perdure::observe
