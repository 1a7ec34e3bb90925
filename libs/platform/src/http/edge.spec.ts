import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Body, Controller, Get, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Type } from 'class-transformer';
import { IsInt, IsOptional, IsString, Min, ValidateNested } from 'class-validator';
import request from 'supertest';
import { tokenFor } from '../../../../test/harness/environment.js';
import { errorBody } from '../../../../test/harness/error-body.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { Admin, Public } from '../auth/access.js';
import { AuthModule } from '../auth/auth.module.js';
import { AppError, DependencyUnavailable } from '../errors/app-error.js';
import { HealthModule } from '../health/health.controller.js';
import { HealthRegistry } from '../health/health-registry.js';
import { createLogger } from '../logging/logger.js';
import { SurroundingsModule } from '../process/surroundings.module.js';
import { type Config } from '../config/config.js';
import { EdgeModule } from './edge.module.js';
import { createHttpAdapter } from './server.js';

const NESTED = `${'['.repeat(1_500)}${']'.repeat(1_500)}`;

const SECRET = 'a-secret-for-tests-of-at-least-32-characters';

class Shoe {
  @IsInt()
  @Min(1)
  size: number;
}

class Order {
  @IsString()
  name: string;

  @ValidateNested()
  @Type(() => Shoe)
  @IsOptional()
  shoe?: Shoe;
}

class ShopFull extends AppError {
  override readonly code = 'SHOP_FULL';
  override readonly kind = 'busy';
  override readonly retryAfterSeconds = 5;
}

@Public()
@Controller()
class Shop {
  @Post('orders')
  order(@Body() order: Order) {
    return order;
  }

  @Post('ping')
  ping() {
    return { ok: true };
  }

  @Get('full')
  full(): never {
    throw new ShopFull('The shop is full');
  }

  @Get('closed')
  closed(): never {
    throw new DependencyUnavailable('postgres');
  }

  @Get('bug')
  bug(): never {
    throw new Error('connection string postgres://user:hunter2@db');
  }
}

@Admin()
@Controller('admin')
class Office {
  @Get('till')
  till() {
    return { euros: 17 };
  }
}

@Module({ imports: [EdgeModule, AuthModule, HealthModule], controllers: [Shop, Office] })
class ShopModule {}

describe('the edge of every HTTP process', () => {
  let app: NestFastifyApplication;
  let arrived = 0;
  const lines: string[] = [];
  beforeAll(async () => {
    const surroundings = SurroundingsModule.with(
      { timeScale: 1, auth: { keys: { secret: SECRET } } } as Config,
      createLogger({
        level: 'error',
        process: 'test',
        destination: { write: (line: string) => void lines.push(line) },
      }),
    );
    const root = { module: ShopModule, imports: [surroundings] };
    const options = { bodyParser: false, logger: false } as const;
    app = await NestFactory.create<NestFastifyApplication>(root, createHttpAdapter([]), options);
    app
      .getHttpAdapter()
      .getInstance()
      .addHook('preHandler', ({ url }, _reply, done) => {
        if (url === '/health/ready') arrived += 1;
        done();
      });
    await app.listen(0, '127.0.0.1');
  });
  afterAll(() => app.close());

  const post = (body: string | object, type = 'application/json') =>
    request(app.getHttpServer()).post('/orders').set('content-type', type).send(body);

  it('an HTTP process accepts a body that fits its class', async () => {
    const { body } = await post({ name: 'trail', shoe: { size: 44 } }).expect(201);
    expect(body).toEqual({ name: 'trail', shoe: { size: 44 } });
  });

  it('an HTTP process answers 400 with each wrong field, each nested wrong field by its path, and each unknown field', async () => {
    const { body } = await post({ name: 7, shoe: { size: 0 }, admin: true }).expect(400);
    expect(body).toEqual({
      error: 'Validation failed',
      code: 'VALIDATION_FAILED',
      details: ['admin: unknown field', 'name: must be a string', 'shoe.size: must not be less than 1'],
      request_id: expect.any(String),
    });
  });

  it.each([
    ['text', 'hello', 'text/plain', 415],
    ['XML', '<a/>', 'application/xml', 415],
    ['a form', 'name=x', 'application/x-www-form-urlencoded', 415],
    ['malformed JSON', '{"name":', 'application/json', 400],
    ['JSON with the key __proto__', '{"__proto__":{"admin":true},"name":"x"}', 'application/json', 400],
    ['more than a megabyte', JSON.stringify({ name: 'x'.repeat(1024 * 1024) }), 'application/json', 413],
    ['an array', '[]', 'application/json', 400],
    ['a string', '"x"', 'application/json', 400],
    ['null', 'null', 'application/json', 400],
    ['1,500 nested lists', NESTED, 'application/json', 400],
    ['a field of 1,500 nested lists', `{"name":"x","shoe":${NESTED}}`, 'application/json', 400],
  ])('an HTTP process refuses a request body: %s', async (_, body, type, status) => {
    const answer = await post(body, type);
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual(errorBody());
  });

  it('an HTTP process accepts an empty body with the JSON content type', async () => {
    await request(app.getHttpServer()).post('/ping').set('content-type', 'application/json').expect(201);
  });

  it.each([
    ['no token', undefined, 401],
    ['an athlete’s token', 'athlete', 403],
    ['an admin’s token', 'admin', 200],
  ])('an admin route answers %s (role %s) with %i, also on an encoded path', async (_, role, status) => {
    const token = role && (await tokenFor('someone', { role }, SECRET));
    for (const path of ['/admin/till', '/%61dmin/till']) {
      const sent = request(app.getHttpServer()).get(path);
      await (token ? sent.set('authorization', `Bearer ${token}`) : sent).expect(status);
    }
  });

  it('/health/ready runs each probe once for five concurrent requests, and again for a later request', async () => {
    const answered: Array<() => void> = [];
    app.get(HealthRegistry).register('slow', () => new Promise((resolve) => answered.push(resolve)));
    const sent = Array.from({ length: 5 }, () => request(app.getHttpServer()).get('/health/ready').then());
    await eventually('all requests have arrived', () => arrived === 5);
    expect(answered).toHaveLength(1);
    answered[0]?.();
    for (const { status } of await Promise.all(sent)) expect(status).toBe(200);

    const later = request(app.getHttpServer()).get('/health/ready').then();
    await eventually('the probe runs again', () => answered[1]);
    answered[1]?.();
    await later;
  });

  it('an HTTP process answers 500 without details for an unexpected error', async () => {
    const { body, text } = await request(app.getHttpServer()).get('/bug').expect(500);
    expect(body).toMatchObject({ error: 'Internal error', details: [] });
    expect(text).not.toContain('hunter2');
  });

  it.each([
    ['/full', 503, 0],
    ['/closed', 503, 1],
    ['/bug', 500, 1],
    ['/nowhere', 404, 0],
  ])('GET %s is answered with %i and leaves %i error lines in the log', async (path, status, count) => {
    lines.length = 0;
    await request(app.getHttpServer()).get(path).expect(status);
    expect(lines).toHaveLength(count);
  });

  it('a refusal because of our own limit says when to try again', async () => {
    const { headers, body } = await request(app.getHttpServer()).get('/full').expect(503);
    expect(headers['retry-after']).toBe('5');
    expect(body).toMatchObject({ code: 'SHOP_FULL', error: 'The shop is full' });
  });
});
