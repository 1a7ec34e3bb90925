import { ApiProperty } from '@nestjs/swagger';
import { CHANGE_TYPES } from '#platform';

/** The data of an event `change`. */
export class ChangeNameAnswer {
  @ApiProperty({ enum: CHANGE_TYPES })
  type: string;

  @ApiProperty({ format: 'uuid' })
  athlete_id: string;

  @ApiProperty({ description: 'As in `GET /v1/changes`' })
  subject_id: string;

  @ApiProperty({ type: 'integer' })
  revision: number;
}

/** The data of an event `unavailable`. */
export class UnavailableServerAnswer {
  @ApiProperty({ enum: ['postgres', 'redis', 'nats'] })
  server: string;
}

/** The data of an event `changes`. */
export class ManyChangesAnswer {
  @ApiProperty({ enum: [true] })
  many: boolean;
}
