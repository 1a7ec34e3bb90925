import { Injectable } from '@nestjs/common';
import { Database } from '../database/database.js';

export interface OperatorAction {
  /** The subject of the operator's token. */
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly detail?: object;
}

/** Who did what by hand. Written before it is done: what cannot be noted is not done. */
@Injectable()
export class OperatorActions {
  constructor(private readonly database: Database) {}

  async note({ actor, action, target, detail = {} }: OperatorAction): Promise<void> {
    await this.database.query(
      'insert into operator_action (actor, action, target, detail) values ($1, $2, $3, $4)',
      [actor, action, target, JSON.stringify(detail)],
    );
  }
}
