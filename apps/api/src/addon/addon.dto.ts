import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { CAUSES } from '#reliability';

/** What explains an answer that is not what was asked for. */
class Reasoned {
  @ApiPropertyOptional({
    enum: CAUSES,
    description: 'Why it is not what was asked for; the same reason, the same answer',
  })
  reason?: string;

  @ApiPropertyOptional({ description: 'For a person' })
  message?: string;
}

export class ManifestAnswer {
  @ApiProperty({ example: 'org.pacekeeper.guided-workouts' })
  id: string;

  @ApiProperty({ example: '1.0.0' })
  version: string;

  @ApiProperty()
  name: string;

  @ApiProperty()
  description: string;

  @ApiProperty({ type: 'array', items: {}, description: 'catalog, meta and stream' })
  resources: unknown[];

  @ApiProperty({ type: [String] })
  types: string[];

  @ApiProperty({ type: [String] })
  idPrefixes: string[];

  @ApiProperty({ type: 'array', items: { type: 'object' } })
  catalogs: object[];

  @ApiProperty({ type: 'object', additionalProperties: true })
  behaviorHints: object;
}

export class AddonVideo {
  @ApiProperty()
  id: string;

  @ApiProperty()
  title: string;

  @ApiProperty()
  season: number;

  @ApiProperty()
  episode: number;

  @ApiPropertyOptional({ format: 'date-time' })
  released?: string;
}

export class MetaPreview {
  @ApiProperty({ example: 'pacekeeper:base-building' })
  id: string;

  @ApiProperty({ example: 'series' })
  type: string;

  @ApiProperty()
  name: string;

  @ApiPropertyOptional()
  description?: string;

  @ApiPropertyOptional({ format: 'uri' })
  poster?: string;

  @ApiPropertyOptional()
  posterShape?: string;
}

export class Meta extends MetaPreview {
  @ApiPropertyOptional({ type: [AddonVideo] })
  videos?: AddonVideo[];
}

export class CatalogAnswer extends Reasoned {
  @ApiProperty({ type: [MetaPreview] })
  metas: MetaPreview[];
}

export class MetaAnswer extends Reasoned {
  @ApiProperty({ type: Meta, nullable: true })
  meta: Meta | null;
}

export class AddonStream {
  @ApiProperty({ format: 'uri' })
  url: string;

  @ApiProperty({ example: '1080p' })
  name: string;

  @ApiPropertyOptional()
  description?: string;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description: 'bingeGroup, filename, videoSize; notWebReady unless it is an MP4 over https',
  })
  behaviorHints: object;
}

export class AddonStreams extends Reasoned {
  @ApiProperty({ type: [AddonStream] })
  streams: AddonStream[];
}
