import { connect } from 'node:net';

/** Whether something on this port answers as expected, to `send` or to the mere connection. */
export function answers({ port, send, expect, withinMs = 1_000 }) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    let received = '';
    const done = (answer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(withinMs, () => done(false));
    socket.once('connect', () => send && socket.write(send));
    socket.once('error', () => done(false));
    socket.once('close', () => done(false));
    socket.on('data', (data) => {
      received += data.toString('latin1');
      if (expect.test(received)) done(true);
    });
  });
}

export const redisProbe = { send: 'PING\r\n', expect: /^\+PONG/ };
export const natsProbe = { expect: /^INFO / };
// A session request: the server asks for the password (R) once it accepts sessions, and says E as long as it starts up.
export const postgresProbe = { send: sessionRequest('pacekeeper', 'pacekeeper'), expect: /^R/ };

function sessionRequest(user, database) {
  const protocol = Buffer.from([0, 3, 0, 0]);
  const body = Buffer.concat([protocol, Buffer.from(`user\0${user}\0database\0${database}\0\0`)]);
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + length.length);
  return Buffer.concat([length, body]);
}
