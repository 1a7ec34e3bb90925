import { Injectable } from '@nestjs/common';
import { Subject } from 'rxjs';

/** What others begin their work by. It may be lost with the process: they have to find out in another way as well. */
@Injectable()
export class ImportNews {
  /** The athlete whose whole history is listed by now. */
  readonly summariesIn = new Subject<string>();
}
