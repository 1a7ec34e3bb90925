import { type ReadFault } from '../call/vendor-answer.js';

const CONSENTS = /\bconsents?\b/i;

/**
 * Polar answers 403 to every call of an athlete who has withdrawn the mandatory consents. A single resource can be forbidden as well, so a 403
 * counts only if its text names the consents.
 */
export const readPolarFault: ReadFault = ({ status, body }) =>
  status === 403 && CONSENTS.test(body.toString('utf8'))
    ? { means: 'grant ended', text: 'the mandatory consents are missing' }
    : {};
