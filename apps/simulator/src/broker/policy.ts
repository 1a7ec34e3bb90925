import { type StatePart } from '../core/index.js';
import { type Episode } from './catalogue.js';

/** Clients with this prefix are always refused, so that a test gets a refusal without changing the policy. */
const BLOCKED_CLIENT_PREFIX = 'blocked';

interface PolicySwitches {
  readonly clients: readonly string[];
  readonly episodes: readonly string[];
  readonly everything: boolean;
}

/** Decides whether a client may watch an episode. Members-only episodes and `blocked…` clients are always refused. */
export class ViewingPolicy implements StatePart<PolicySwitches> {
  private readonly blockedClients = new Set<string>();
  private readonly blockedEpisodes = new Set<string>();
  private everythingBlocked = false;

  allows(client: string, episode: Episode): boolean {
    if (this.everythingBlocked || episode.membersOnly) return false;
    if (client.startsWith(BLOCKED_CLIENT_PREFIX)) return false;
    return !this.blockedClients.has(client) && !this.blockedEpisodes.has(episode.id);
  }

  block(rule: Partial<PolicySwitches>): void {
    rule.clients?.forEach((client) => this.blockedClients.add(client));
    rule.episodes?.forEach((episode) => this.blockedEpisodes.add(episode));
    this.everythingBlocked = rule.everything ?? this.everythingBlocked;
  }

  restore(saved: PolicySwitches): void {
    this.block(saved);
  }

  reset(): void {
    this.blockedClients.clear();
    this.blockedEpisodes.clear();
    this.everythingBlocked = false;
  }

  save(): PolicySwitches {
    return {
      clients: [...this.blockedClients],
      episodes: [...this.blockedEpisodes],
      everything: this.everythingBlocked,
    };
  }
}
