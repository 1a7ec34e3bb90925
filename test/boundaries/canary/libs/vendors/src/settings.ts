export { strava } from './strava/vendor.js';
