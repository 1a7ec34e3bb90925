// Two other ways to answer with a stream, for comparison; CONTENDER names the one of this process, so that neither leaves the other its
// garbage. `ready` finds stored bytes by primary key and sends them. No design that keeps
// streams in Postgres does less work. `obvious` is the usual first design: for each answer it loads an entity and compresses its JSON.
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import fastify from 'fastify';
import pg from 'pg';
import { Column, DataSource, Entity, PrimaryColumn } from 'typeorm';

const POOL = 10;
const compress = promisify(gzip);
const databaseUrl = process.env.DATABASE_URL ?? '';

@Entity('activity_stream')
class ActivityStream {
  @PrimaryColumn('uuid') activity_id: string;
  @Column('jsonb') stream_data: Record<string, unknown[]>;
  @Column('jsonb') channels_available: string[];
  @Column('int') point_count: number;
  @Column('text') source: string;
  @Column('timestamptz') fetched_at: Date;
}

const server = fastify();
if (process.env.CONTENDER === 'ready') serveReady();
else await serveObvious();

function serveReady(): void {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: POOL });
  const select = { name: 'ready', text: 'select body from ready_stream where id = $1' };
  server.get<{ Params: { id: string } }>('/:id', async ({ params: { id } }, reply) => {
    const { rows } = await pool.query<{ body: Buffer }>({ ...select, values: [id] });
    return reply.type('application/json').header('content-encoding', 'gzip').send(rows[0]?.body);
  });
}

async function serveObvious(): Promise<void> {
  const dataSource = await new DataSource({
    type: 'postgres',
    url: databaseUrl,
    entities: [ActivityStream],
    poolSize: POOL,
  }).initialize();
  const streams = dataSource.getRepository(ActivityStream);
  server.get<{ Params: { id: string } }>('/:id', async ({ params: { id } }, reply) => {
    const stream = await streams.findOneByOrFail({ activity_id: id });
    const body = await compress(
      JSON.stringify({ status: 'success', error: null, retry_at: null, ...stream }),
    );
    return reply.type('application/json').header('content-encoding', 'gzip').send(body);
  });
}

const url = await server.listen({ port: 0, host: '127.0.0.1' });
console.log(JSON.stringify({ msg: 'ready', urls: [url] }));
// An ordinary exit, so that a profile is written.
process.once('SIGTERM', () => process.exit());
