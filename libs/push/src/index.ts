export { changeText } from './change.js';
export { changeTypesIn, TYPE_FILTERS } from './change-types.js';
export { ChangeRecords } from './deletion/change-records.js';
export { ChangeRemains } from './deletion/change-remains.js';
export { ChangeFeed, type Page } from './feed/change-feed.js';
export { ChangeTail } from './feed/change-tail.js';
export { cursorOf, type Place, placeOf } from './feed/cursor.js';
export { EventStreams } from './feed/event-streams.js';
export { LongPoll } from './feed/long-poll.js';
export { MOST_OF_ATHLETE, observeReaders, type Owner, Places } from './feed/places.js';
export {
  type DeliveriesQueryOf,
  DELIVERY_STATUSES,
  type DeliveryView,
  EndpointDeliveries,
} from './deliveries/deliveries.js';
export { SentDeliveries, UnsentDeliveries } from './deliveries/delivery-records.js';
export { EndpointHealth, type EndpointHealthView } from './endpoints/endpoint-health.js';
export { ENDPOINT_STATUSES, type EndpointView, WebhookEndpoints } from './endpoints/webhook-endpoints.js';
export { PushModule, PushWorkModule } from './push.module.js';
