export { type Head, type OutboundAnswer, type OutboundRequest } from './exchange.js';
export { type Admission, type Meter, type Refusal } from './meter.js';
export { type Answered, type Bounds, OutboundCaller, type OutboundOptions } from './outbound-caller.js';
export { AnswerTooLarge, CallAborted, CallTimedOut, ConnectionFailed } from './outbound.errors.js';
