export { Inner } from '../../api/src/main.js';
