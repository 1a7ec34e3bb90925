export { readWhoopEvent, type WhoopEvent } from './event.js';
export { isSignedByWhoop, type SignedDelivery } from './signature.js';
export { type WhoopSleep } from './sleep-document.js';
export { WhoopClient } from './whoop-client.js';
export { WhoopModule } from './whoop.module.js';
