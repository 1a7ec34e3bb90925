import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Body, Controller, Get, Module, Post } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Type } from 'class-transformer';
import { IsInt, IsOptional, IsString, Min, ValidateNested } from 'class-validator';
import request from 'supertest';
import { tokenFor } from '../../../../test/harness/environment.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { Admin, Public } from '../auth/access.js';
import { AuthModule } from '../auth/auth.module.js';
import { HealthModule } from '../health/health.module.js';
import { HealthRegistry } from '../health/health-registry.js';
import { createLogger } from '../logging/logger.js';
import { SurroundingsModule } from '../process/surroundings.module.js';
import { type Config } from '../config/config.js';
import { EdgeModule } from './edge.module.js';
import { createHttpAdapter } from './server.js';

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
  beforeAll(async () => {
    const surroundings = SurroundingsModule.with(
      { timeScale: 1, auth: { keys: { secret: SECRET } } } as Config,
      createLogger({ level: 'silent', process: 'test' }),
    );
    const testing = await Test.createTestingModule({ imports: [surroundings, ShopModule] }).compile();
    app = testing.createNestApplication<NestFastifyApplication>(createHttpAdapter([]), { bodyParser: false });
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

  it('takes what has the shape of the class', async () => {
    const { body } = await post({ name: 'trail', shoe: { size: 44 } }).expect(201);
    expect(body).toEqual({ name: 'trail', shoe: { size: 44 } });
  });

  it('names each field that is wrong, nested ones by their path, unknown ones too', async () => {
    const { body } = await post({ name: 7, shoe: { size: 0 }, admin: true }).expect(400);
    expect(body).toEqual({
      error: 'Validation failed',
      details: ['admin: unknown field', 'name: must be a string', 'shoe.size: must not be less than 1'],
      request_id: expect.any(String),
    });
  });

  it.each([
    ['text', 'hello', 'text/plain', 415],
    ['XML', '<a/>', 'application/xml', 415],
    ['a form', 'name=x', 'application/x-www-form-urlencoded', 415],
    ['malformed JSON', '{"name":', 'application/json', 400],
    ['a prototype', '{"__proto__":{"admin":true},"name":"x"}', 'application/json', 400],
    ['more than a megabyte', JSON.stringify({ name: 'x'.repeat(1024 * 1024) }), 'application/json', 413],
    ['an array', '[]', 'application/json', 400],
    ['a string', '"x"', 'application/json', 400],
    ['null', 'null', 'application/json', 400],
  ])('refuses %s', async (_, body, type, status) => {
    const answer = await post(body, type);
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({
      error: expect.any(String),
      details: expect.any(Array),
      request_id: expect.any(String),
    });
  });

  it('takes JSON that is named and not sent for no body', async () => {
    await request(app.getHttpServer()).post('/ping').set('content-type', 'application/json').expect(201);
  });

  it.each([
    ['nobody', undefined, 401],
    ['an athlete', 'athlete', 403],
    ['an admin', 'admin', 200],
  ])('lets %s into the office: %s %i', async (_, role, status) => {
    const token = role && (await tokenFor('someone', { role }, SECRET));
    for (const path of ['/admin/till', '/%61dmin/till']) {
      const asked = request(app.getHttpServer()).get(path);
      await (token ? asked.set('authorization', `Bearer ${token}`) : asked).expect(status);
    }
  });

  it('asks each server once, however many ask whether we are ready', async () => {
    const answered: Array<() => void> = [];
    app.get(HealthRegistry).register('slow', () => new Promise((resolve) => answered.push(resolve)));
    const asked = Array.from({ length: 5 }, () => request(app.getHttpServer()).get('/health/ready').then());
    await eventually('all have asked', () => arrived === 5);
    expect(answered).toHaveLength(1);
    answered[0]?.();
    for (const { status } of await Promise.all(asked)) expect(status).toBe(200);

    const later = request(app.getHttpServer()).get('/health/ready').then();
    await eventually('it is asked again', () => answered[1]);
    answered[1]?.();
    await later;
  });

  it('tells nothing of an error that nobody foresaw', async () => {
    const { body, text } = await request(app.getHttpServer()).get('/bug').expect(500);
    expect(body).toMatchObject({ error: 'Internal error', details: [] });
    expect(text).not.toContain('hunter2');
  });
});
