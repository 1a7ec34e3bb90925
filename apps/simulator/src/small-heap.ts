import { setFlagsFromString } from 'node:v8';

// Import this module first, so that the flags are set before the heap grows. Measured with 50,000 activities: 155 MB at
// rest instead of 180 MB, 185 MB under load instead of 280 MB, and 10 % less speed.
setFlagsFromString('--semi-space-growth-factor=1');
setFlagsFromString('--heap-growing-percent=50');
