import { Injectable } from '@nestjs/common';
import { Imports } from '#activities';
import { type ConnectionListener, type Provider } from '#connections';
import { vendorsWith } from '#vendors';

/** Begins a full import when an athlete connects a vendor with activities. */
@Injectable()
export class ImportOnConnect implements ConnectionListener {
  constructor(private readonly imports: Imports) {}

  async connected(athleteId: string, provider: Provider): Promise<void> {
    if (vendorsWith('activities').includes(provider))
      await this.imports.begin(athleteId, 'full', null, provider);
  }

  /** Does nothing: the deletion that follows ends the imports. */
  disconnected(): Promise<void> {
    return Promise.resolve();
  }
}
