export { EventRecords } from './event-records.js';
export {
  done,
  type EventGroup,
  type EventHandler,
  EventHandlers,
  type EventOwner,
  type HandlerAnswer,
} from './handlers.js';
export { EVENT_STATUSES, WebhookEvents } from './webhook-events.js';
export { WebhookInbox } from './webhook-inbox.js';
export { WebhooksModule, WebhooksWorkModule } from './webhooks.module.js';
