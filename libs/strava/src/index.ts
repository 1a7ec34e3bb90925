export { LONGEST_STRAVA_CALL_MS } from './call-limits.js';
export {
  type ActivityChanges,
  type Listing,
  type RawStreams,
  StravaClient,
  type Who,
} from './strava-client.js';
export {
  CallUnwanted,
  StravaAnswerMalformed,
  StravaAppInactive,
  StravaBudgetUnavailable,
  StravaForbidden,
  StravaNotFound,
  StravaOutage,
  StravaRateLimited,
  StravaRequestRefused,
  StravaTokenRevoked,
} from './strava.errors.js';
export { StravaModule } from './strava.module.js';
export { StravaStreams } from './strava-streams.js';
export { StravaEventsModule } from './webhooks/events.module.js';
export { EventRecords } from './webhooks/event-records.js';
export { StravaInboxModule } from './webhooks/inbox.module.js';
export {
  type Answered,
  type Owner,
  STRAVA_ATHLETES,
  STRAVA_EVENTS,
  type StravaAthletes,
  type StravaEvents,
} from './webhooks/strava-events.js';
export { StravaSubscriptionModule } from './webhooks/subscription.module.js';
export { type Receipt, WebhookInbox } from './webhooks/webhook-inbox.js';
export { type ActivityMap, type DetailedActivity, type SummaryActivity } from './wire/activity.js';
export { type Photo } from './wire/photo.js';
