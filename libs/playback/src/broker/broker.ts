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

export interface VideoSource {
  readonly url: string;
  readonly name?: string;
  readonly description?: string;
  readonly filename?: string;
  readonly sizeBytes?: number;
}

/** An expected refusal is a value, not an error: replicas that share a call send each other the refusal as JSON. */
export interface BrokerRefusal {
  readonly kind: 'refused';
  readonly cause: Cause;
}

export type Catalogue = { readonly kind: 'catalogue'; readonly series: readonly Series[] } | BrokerRefusal;
export type Resolution =
  { readonly kind: 'sources'; readonly sources: readonly VideoSource[] } | BrokerRefusal;

export function refused(cause: Cause): BrokerRefusal {
  return { kind: 'refused', cause };
}

/** The service that has the videos. Both methods reject only if the signal was aborted. */
export interface Broker {
  catalogue(signal?: AbortSignal): Promise<Catalogue>;
  /** The URLs at which this client can play an episode. */
  resolve(client: string, episode: string, signal?: AbortSignal): Promise<Resolution>;
}

/** For a deployment without a broker: an empty catalogue, and no episode is found. */
export const NO_BROKER: Broker = {
  catalogue: () => Promise.resolve({ kind: 'catalogue', series: [] }),
  resolve: () => Promise.resolve(refused('not_found')),
};
