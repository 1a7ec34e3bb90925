import { Injectable, type PipeTransform } from '@nestjs/common';
import { NotFound } from '../errors/app-error.js';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** What cannot be an id names nothing: 404, as for one that nobody has. */
@Injectable()
export class IdParam implements PipeTransform<string, string> {
  transform(value: string): string {
    if (!UUID.test(value)) throw new NotFound();
    return value.toLowerCase();
  }
}
