import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { NotFound, Public } from '#platform';

export const CONSOLE_FOLDER = Symbol('folder of the console');

/** `dist/console`, where the build puts the console's files. */
export const BUILT_CONSOLE = fileURLToPath(new URL('../../../../console/', import.meta.url));

const PAGE = 'index.html';
// Stricter than the policy of the other pages: no inline styles.
const POLICY = [
  "default-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join(';');

// No segment begins with a dot, so a path never leaves the folder.
const FILE = /^(?:[\w-][\w.-]*\/)*[\w-][\w.-]*\.\w+$/;

/** Lets replies send files, each as the build has compressed it, if the client accepts that. Each answer reads its file from the disk. */
export async function sendFiles(server: FastifyInstance): Promise<void> {
  await server.register(fastifyStatic, {
    serve: false,
    preCompressed: true,
    acceptRanges: false,
    cacheControl: false,
    dotfiles: 'ignore',
  });
}

/** Serves the files of the console. A path without a file extension is a page of the application, which `index.html` shows. */
@ApiExcludeController()
@Public()
@Controller('console')
export class ConsoleController {
  constructor(@Inject(CONSOLE_FOLDER) private readonly folder: string) {}

  @Get(['', '*'])
  async read(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    void reply.header('content-security-policy', POLICY);
    const { '*': path = '' } = request.params as { readonly '*'?: string };
    if (isPage(path)) await this.sendPage(reply);
    else await this.sendFile(reply, path);
  }

  private async sendPage(reply: FastifyReply): Promise<void> {
    if (!(await isFile(join(this.folder, PAGE))))
      throw new NotFound('The console is not built here: run `npm run build`');
    void reply.header('cache-control', 'no-cache').sendFile(PAGE, this.folder);
  }

  private async sendFile(reply: FastifyReply, path: string): Promise<void> {
    if (!FILE.test(path) || !(await isFile(join(this.folder, path)))) throw new NotFound();
    // The names of assets contain a hash of their content. A page from before an update may still ask for assets that are gone.
    const isHashed = path.startsWith('assets/');
    void reply.header('cache-control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache');
    void reply.sendFile(path, this.folder);
  }
}

function isPage(path: string): boolean {
  const segments = path.split('/');
  return !segments.at(-1)?.includes('.') && !segments.includes('..');
}

const ABSENT = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'];

async function isFile(file: string): Promise<boolean> {
  try {
    return (await stat(file)).isFile();
  } catch (error) {
    if (ABSENT.includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}
