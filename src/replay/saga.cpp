#include <perdure/saga.h>

#include <new>
#include <utility>

#include <perdure/detail/thrown.h>

namespace perdure {

namespace {

Task<void> run_activity(OrchestrationContext ctx, std::string name, Payload input, ActivityOptions options) {
  co_await ctx.schedule_activity<void>(name, Raw(std::move(input)), options);
}

Error failure_of_step(std::string text) {
  return {Error::Source::kUserCode, "task",
          ApplicationError{ApplicationErrorKind::kOrchestrationFailed, std::move(text), false}};
}

Task<std::vector<Error>> undo_all(OrchestrationContext ctx, std::vector<Saga::Step> steps) {
  std::vector<Error> failures;
  while (!steps.empty()) {
    const Saga::Step step = std::move(steps.back());
    steps.pop_back();
    try {
      auto undone = co_await step(ctx).as_result();
      if (!undone) failures.push_back(undone.error());
    } catch (const std::bad_alloc&) {
      throw;  // of the machine: another run may undo the step
    } catch (const DurableError& error) {
      failures.push_back(error.error());
    } catch (const std::exception& error) {  // of the step's function, before it returned its Task
      failures.push_back(failure_of_step(detail::text_of(error)));
    } catch (detail::ForcedUnwind&) {
      throw;
    } catch (...) {
      failures.push_back(failure_of_step(detail::kThrewOther));
    }
  }
  co_return failures;
}

}  // namespace

void Saga::add_activity(std::string name, Payload input, const ActivityOptions& options) {
  steps_.emplace_back([name = std::move(name), input = std::move(input), options](OrchestrationContext ctx) {
    return run_activity(ctx, name, input, options);
  });
}

Task<std::vector<Error>> Saga::compensate() {
  return undo_all(ctx_, std::exchange(steps_, {}));
}

}  // namespace perdure
