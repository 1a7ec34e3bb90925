export { Inner } from '../../../libs/connections/src/inner.js';
