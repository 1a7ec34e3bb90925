import { AppError } from '#platform';

/** There is nothing left to cancel. */
export class JobFinished extends AppError {
  override readonly code = 'JOBS.FINISHED';
  override readonly kind = 'conflict';
  constructor() {
    super('The job has already finished');
  }
}
