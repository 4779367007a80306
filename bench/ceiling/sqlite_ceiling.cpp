// Steps of bare SQLite: bench/ceiling/compare.sh runs it. Prints its SQL with the argument `sql`.
#include "ceiling/ceiling.h"
#include "ceiling/measure.h"

int main(int count, char** values) {
  return ceiling::measure(count, values, false, ceiling::run_sqlite, ceiling::sqlite_sql);
}
