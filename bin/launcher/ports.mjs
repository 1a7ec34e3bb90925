// TCP ports on this machine: finds free ports, and checks whether a server answers on a port.
import { connect, createServer } from 'node:net';
import { lastLines } from './files.mjs';
import { until } from './processes.mjs';
import { Failure } from './terminal.mjs';

// These ports are below Linux's ephemeral ports (32768 and up), because the system may give an ephemeral port to any outgoing connection.
const PRIVATE_PORTS = { from: 20_000, to: 32_000 };
const READY_MS = 60_000;

/** The wanted port, or the next free port above it. The port is not reserved: another process may take it before ours listens. */
export async function nextFreePort(wanted, taken = []) {
  for (let port = wanted; port <= 65_535; port += 1) {
    if (!taken.includes(port) && (await isPortFree(port))) return port;
  }
  throw new Failure(`There is no free port from ${wanted} up.`);
}

/** The preferred port if it is free. Otherwise a free port that is chosen at random. */
export async function anyFreePort(preferred, taken = []) {
  if (preferred && (await isPortFree(preferred))) return preferred;
  const { from, to } = PRIVATE_PORTS;
  return nextFreePort(from + Math.floor(Math.random() * (to - from)), taken);
}

async function isPortFree(port) {
  // This checks both addresses, because on some systems a process can bind one of them while another process listens on the other.
  return (await canListen(port, '127.0.0.1')) && (await canListen(port, '0.0.0.0'));
}

function canListen(port, host) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/**
 * Waits until the server on this port gives the answer that the probe expects. After 60 s it throws with the end of the server's
 * log. It does not watch the process, because the exit of a server ends the run.
 */
export async function waitUntilReady(title, child, port, probe) {
  if (await until(() => answers(port, probe), { withinMs: READY_MS })) return;
  throw new Failure(
    `${title} did not answer within ${READY_MS / 1000} s. The last lines of ${child.log}:\n${lastLines(child.log)}`,
  );
}

export const redisProbe = (password) => ({ send: `AUTH ${password}\r\nPING\r\n`, expect: /\+PONG/ });
/** A NATS server greets each connection. */
export const natsProbe = { expect: /^INFO / };
/** The probe requests a session. The server answers E while it starts up. It answers R (asks for the password) once it accepts sessions. */
export const postgresProbe = { send: sessionRequest('pacekeeper', 'pacekeeper'), expect: /^R/ };

function answers(port, { send, expect }) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    let received = '';
    const done = (isExpected) => {
      socket.destroy();
      resolve(isExpected);
    };
    socket.setTimeout(1_000, () => done(false));
    socket.once('connect', () => send && socket.write(send));
    socket.once('error', () => done(false));
    socket.once('close', () => done(false));
    socket.on('data', (data) => {
      received += data.toString('latin1');
      if (expect.test(received)) done(true);
    });
  });
}

function sessionRequest(user, database) {
  const protocol = Buffer.from([0, 3, 0, 0]);
  const body = Buffer.concat([protocol, Buffer.from(`user\0${user}\0database\0${database}\0\0`)]);
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + length.length);
  return Buffer.concat([length, body]);
}
