import './small-heap.js';
import { readEnvironment } from './environment.js';
import { createSimulator } from './simulator.js';

async function main(): Promise<void> {
  const { host, port, options } = readEnvironment(process.env);
  const { app } = await createSimulator(options);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop(app.close()));
  await app.listen({ host, port });
  const address = app.server.address();
  const takenPort = typeof address === 'object' && address ? address.port : port;
  console.log(`simulator http://${host}:${takenPort}`);
}

async function stop(closed: Promise<unknown>): Promise<never> {
  await closed;
  process.exit(0);
}

main().catch((error: NodeJS.ErrnoException & { port?: number }) => {
  const isTaken = error.code === 'EADDRINUSE';
  console.error(`simulator: ${isTaken ? `port ${error.port} is taken, set SIMULATOR_PORT` : error.message}`);
  process.exit(1);
});
