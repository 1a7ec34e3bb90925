import { Injectable } from '@nestjs/common';
import { Imports } from '#activities';
import { type ConnectionListener, type Provider } from '#connections';

/** Nobody should have to ask for what they have connected an account for. */
@Injectable()
export class ImportOnConnect implements ConnectionListener {
  constructor(private readonly imports: Imports) {}

  async connected(athleteId: string, provider: Provider): Promise<void> {
    if (provider === 'strava') await this.imports.begin(athleteId, 'full', null);
  }

  /** Its imports end with the deletion that follows. */
  disconnected(): Promise<void> {
    return Promise.resolve();
  }
}
