import { Inject, Injectable } from '@nestjs/common';
import { LOGGER, type Logger, OperatorActions } from '#platform';
import {
  type DeliveriesQueryOf,
  type DeliveryView,
  EndpointDeliveries,
  EndpointHealth,
  type EndpointHealthView,
  WebhookEndpoints,
} from '#push';

/** An operator's view of apps' endpoints, and the actions on them. Each action is recorded with the operator's name before it is carried out. */
@Injectable()
export class EndpointOperations {
  constructor(
    private readonly endpoints: WebhookEndpoints,
    private readonly deliveries: EndpointDeliveries,
    private readonly health: EndpointHealth,
    private readonly actions: OperatorActions,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  list(): Promise<readonly EndpointHealthView[]> {
    return this.health.list();
  }

  listDeliveries(id: string, query: DeliveriesQueryOf): ReturnType<EndpointDeliveries['list']> {
    return this.deliveries.list(id, query);
  }

  async redeliver(id: string, delivery: number, actor: string): Promise<DeliveryView> {
    await this.note('webhook-endpoint.redeliver', id, actor, { delivery });
    return this.deliveries.redeliver(id, delivery);
  }

  /** An endpoint that is enabled begins anew: its circuit is closed, and the deliveries that waited are sent. */
  async setStatus(id: string, status: 'active' | 'disabled', actor: string): Promise<EndpointHealthView> {
    const action = status === 'active' ? 'enable' : 'disable';
    await this.note(`webhook-endpoint.${action}`, id, actor, {});
    await this.endpoints.change(id, { status });
    return this.health.find(id);
  }

  /** Records an action. Throws NotFound without such an endpoint, and records nothing then. */
  private async note(action: string, id: string, actor: string, detail: object): Promise<void> {
    await this.endpoints.find(id);
    await this.actions.note({ actor, action, target: id, detail });
    this.logger.info({ actor, action, endpoint_id: id, ...detail }, 'action on a webhook endpoint requested');
  }
}
