// npm run drill: backs up, wipes and restores a database of its own, and proves that nothing is missing afterwards.
import './launcher/node-version.mjs';
import { runPrograms } from './launcher/run-programs.mjs';

await runPrograms({ folder: 'dist/test/drill', suffix: '.drill.js', kind: 'drill', isDurable: false });
