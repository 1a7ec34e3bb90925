// Serves the files of the console from the folder in the first argument, and prints its port. A process of its own: Jest on Node 20 cannot load
// @fastify/static, which requires an ES module.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';

const dist = (file) => import(new URL(`../../dist/${file}`, import.meta.url).href);
const { createHttpAdapter, createLogger, EdgeModule, SurroundingsModule } = await dist(
  'libs/platform/src/index.js',
);
const { CONSOLE_FOLDER, ConsoleController, sendFiles } = await dist(
  'apps/api/src/console/console.controller.js',
);

const surroundings = SurroundingsModule.with(
  { timeScale: 1 },
  createLogger({ level: 'silent', process: 'test' }),
);
const app = await NestFactory.create(
  {
    module: class Console {},
    imports: [surroundings, EdgeModule],
    controllers: [ConsoleController],
    providers: [{ provide: CONSOLE_FOLDER, useValue: process.argv[2] }],
  },
  createHttpAdapter([]),
  { logger: false, abortOnError: false, bodyParser: false },
);
await sendFiles(app.getHttpAdapter().getInstance());
await app.listen(0, '127.0.0.1');
console.log(new URL(await app.getUrl()).port);
