import fastify from 'fastify';

// Measures the upper bound of the api's rate: a server that answers the same JSON without authentication, rate limits and logging.
const body = {
  athlete_id: '0b1d2c3e-4f50-4a61-8b72-93a4b5c6d7e8',
  role: 'athlete',
  token_expires_at: new Date(0).toISOString(),
};
const server = fastify();
server.get('/v1/me', () => Promise.resolve({ ...body }));
const url = await server.listen({ port: 0, host: '127.0.0.1' });
console.log(JSON.stringify({ msg: 'ready', urls: [url] }));
