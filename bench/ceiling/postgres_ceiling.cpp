// Steps of bare PostgreSQL: bench/ceiling/compare_postgres.sh runs it. Prints its SQL with the argument `sql`.
#include "ceiling/ceiling.h"
#include "ceiling/measure.h"

int main(int count, char** values) {
  return ceiling::measure(count, values, true, ceiling::run_postgres, ceiling::postgres_sql);
}
