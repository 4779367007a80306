#include "model/error_codec.h"

#include "model/field_codec.h"
#include "model/shared_fields.h"

namespace perdure {

std::string encode_error(const ErrorDetails& error) {
  detail::FieldWriter writer(engine_version());
  detail::fields(writer, error);
  return writer.take();
}

ErrorDetails decode_error(std::string_view bytes) {
  ErrorDetails error;
  detail::FieldReader reader(bytes);
  static_cast<void>(reader.header());
  detail::fields(reader, error);
  reader.finish();
  return error;
}

}  // namespace perdure
