import { writePage } from './page.js';

// npm run bench -- --page: makes docs/benchmarks.md and its plot anew, without measuring.
writePage();
