// Which instances an operator asks for, as arguments of a condition.
#pragma once

#include <perdure/provider_admin.h>
#include "providers/postgres/parameters.h"

namespace perdure::postgres {

// Of the instance `i`. Its seven arguments come first: filter_parameters().
#define PERDURE_INSTANCE_FILTER                                                                     \
  " i.created_at IS NOT NULL AND ($1::smallint[] IS NULL OR i.status = ANY($1::smallint[]))"        \
  " AND ($2::text[] IS NULL OR i.id = ANY($2::text[])) AND ($3::text IS NULL OR i.name = $3::text)" \
  " AND ($4::text IS NULL OR i.version = $4::text)"                                                 \
  " AND ($5::bigint IS NULL OR i.created_at >= $5::bigint)"                                         \
  " AND ($6::bigint IS NULL OR i.created_at < $6::bigint)"                                          \
  " AND ($7::bigint IS NULL OR i.completed_at < $7::bigint)"

[[nodiscard]] Parameters filter_parameters(const InstanceFilter& filter);

}  // namespace perdure::postgres
