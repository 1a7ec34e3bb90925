export { Inner } from '../../api/src/main.js';
export { Inner as Shown } from '../../console/src/main.js';
