import { parentPort } from 'node:worker_threads';
import { answerShape } from './answer-shape.js';
import { type ShapeRequest } from './shape-request.js';

// A thread of its own: an hour's recording takes some 20 ms, a day's half a second, and the worker has vendors to talk to.
parentPort?.on('message', (request: ShapeRequest) => parentPort?.postMessage(answerShape(request)));
