/** Why the signal of a run has aborted. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
  constructor() {
    super('The run was cancelled, or another has taken over');
  }
}

export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed';
  constructor(deadlineMs: number) {
    super(`Not done within ${deadlineMs / 1_000} s`);
  }
}

export class WorkerStopping extends Error {
  override readonly name = 'WorkerStopping';
  constructor() {
    super('The worker was stopped');
  }
}
