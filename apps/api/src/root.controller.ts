import { Controller, Get, Inject, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { type FastifyReply } from 'fastify';
import { type Config, CONFIG, Public } from '#platform';

/** Answers a person who opens the address of the api in a browser. */
@ApiExcludeController()
@Public()
@Controller()
export class RootController {
  constructor(@Inject(CONFIG) private readonly config: Config) {}

  @Get()
  lead(@Res() reply: FastifyReply): void {
    void reply.header('cache-control', 'no-store');
    if (this.config.http.hasDocs) void reply.redirect('/docs', 302);
    else void reply.send({ name: 'Pacekeeper', links: { ready: '/health/ready', version: '/version' } });
  }
}
