export { oura as strava } from '../oura/vendor.js';
