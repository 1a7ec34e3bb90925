import { ApiProperty } from '@nestjs/swagger';

class VersionsAnswer {
  @ApiProperty({ example: '0.2.0' })
  pacekeeper: string;

  @ApiProperty({ description: 'The built commit, `unknown` if the build recorded none' })
  commit: string;

  @ApiProperty({ example: '22.20.0' })
  node: string;

  @ApiProperty({ example: '15.14' })
  postgres: string;

  @ApiProperty({ type: String, nullable: true, description: 'Null while Redis does not answer' })
  redis: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'The version of the NATS server that was connected last',
  })
  nats: string | null;
}

class MigrationAnswer {
  @ApiProperty()
  name: string;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'Null: applied before the time was recorded, in a database older than migration 0036',
  })
  applied_at: Date | null;
}

export class SettingsAnswer {
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description: 'The configuration as it was parsed; its names may change with each release',
  })
  config: Readonly<Record<string, unknown>>;

  @ApiProperty({ type: VersionsAnswer })
  versions: VersionsAnswer;

  @ApiProperty({ type: [MigrationAnswer], description: 'Newest first' })
  migrations: readonly MigrationAnswer[];

  @ApiProperty({ description: '`TIME_SCALE`; 1 in production' })
  time_scale: number;
}
