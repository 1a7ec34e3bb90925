export { type OuraEvent, readOuraEvent } from './event.js';
export { OuraClient } from './oura-client.js';
export { OuraModule } from './oura.module.js';
export { OuraSubscriptions } from './oura-subscriptions.js';
export { isSignedByOura, type SignedDelivery } from './signature.js';
export { type OuraSleep } from './sleep-document.js';
export { verificationTokenOf } from './verification-token.js';
