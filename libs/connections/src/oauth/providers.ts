import { NotFound, type VendorConfig } from '#platform';
import { type OAuthClient, type OAuthFacts, type ProductConfig, VENDORS } from '#vendors';
import { isProvider, type Provider, PROVIDERS } from './provider.js';

/** A vendor for which this deployment has a client id and secret. */
export interface OfferedProvider {
  readonly id: Provider;
  readonly facts: OAuthFacts;
  readonly config: VendorConfig;
  readonly client: OAuthClient;
}

/** Only a vendor that can be written to has the variable for it. */
type OwnConfig = VendorConfig & { readonly writesBack?: boolean };

/** The vendors that this deployment offers. */
export class Providers {
  constructor(private readonly config: ProductConfig['vendors']) {}

  /** Throws NotFound for an unknown name and for a vendor without a configured client. */
  offered(name: string): OfferedProvider {
    if (!isProvider(name)) throw new NotFound(`There is no such provider; there are ${PROVIDERS.join(', ')}`);
    const { title, oauth } = VENDORS[name];
    const config: OwnConfig = this.config[name];
    if (!config.client) throw new NotFound(`${title} is not offered here`);
    return {
      id: name,
      facts: config.writesBack ? withWriteScopes(oauth) : oauth,
      config,
      client: config.client,
    };
  }

  isOffered(id: Provider): boolean {
    return this.config[id].client !== undefined;
  }
}

function withWriteScopes(facts: OAuthFacts): OAuthFacts {
  return { ...facts, scopes: [...facts.scopes, ...(facts.writeScopes ?? [])] };
}
