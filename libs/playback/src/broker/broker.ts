import { type Cause } from '#reliability';

export interface Series {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly poster?: string;
  readonly episodes: readonly Episode[];
}

export interface Episode {
  readonly id: string;
  readonly title: string;
  readonly season: number;
  readonly episode: number;
  readonly released?: string;
}

export interface Source {
  readonly url: string;
  readonly name?: string;
  readonly description?: string;
  readonly filename?: string;
  readonly sizeBytes?: number;
}

/** Expected, and so a value; it also travels between replicas that share one call. */
export interface Refused {
  readonly kind: 'refused';
  readonly cause: Cause;
}

export type Catalogue = { readonly kind: 'catalogue'; readonly series: readonly Series[] } | Refused;
export type Resolution = { readonly kind: 'sources'; readonly sources: readonly Source[] } | Refused;

export function refused(cause: Cause): Refused {
  return { kind: 'refused', cause };
}

/** Who has the videos. Both reject only where the signal has ended them. */
export interface Broker {
  catalogue(signal?: AbortSignal): Promise<Catalogue>;
  /** Where an episode can be played, for that client. */
  resolve(client: string, episode: string, signal?: AbortSignal): Promise<Resolution>;
}

/** In a deployment without a broker: there is nothing to watch, and nothing is broken. */
export const NO_BROKER: Broker = {
  catalogue: () => Promise.resolve({ kind: 'catalogue', series: [] }),
  resolve: () => Promise.resolve(refused('not_found')),
};
