export { type Upwards } from '#platform';
export { lost } from './not-there.js';
