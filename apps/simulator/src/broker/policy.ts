import { type Part } from '../core/index.js';
import { type Episode } from './catalogue.js';

/** Clients whose id starts so are refused, whatever they ask for: a test needs no switch to meet the policy. */
const BLOCKED_CLIENT_PREFIX = 'blocked';

export interface PolicySwitches {
  readonly clients: readonly string[];
  readonly episodes: readonly string[];
  readonly everything: boolean;
}

/** Who may watch what: members-only episodes and `blocked…` clients are refused always, the rest as switched. */
export class ViewingPolicy implements Part<PolicySwitches> {
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
