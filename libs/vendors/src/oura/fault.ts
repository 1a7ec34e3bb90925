import { type ReadFault } from '../call/vendor-answer.js';

const MISSING_SCOPE = /not authorized access \w+ scope/i;

/** Oura answers 401 for a scope that the athlete did not grant, as for an expired token, and says so in the text only. */
export const readOuraFault: ReadFault = ({ body }) =>
  MISSING_SCOPE.test(body.toString('utf8')) ? { means: 'missing scope', text: 'a scope is missing' } : {};
