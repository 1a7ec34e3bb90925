import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { CAUSES } from '#reliability';

/** Explains an answer without the requested content. */
class Reasoned {
  @ApiPropertyOptional({
    enum: CAUSES,
    description: 'Why the answer is empty or a clip',
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

  @ApiProperty({
    type: 'array',
    items: { anyOf: [{ type: 'string' }, { type: 'object', additionalProperties: true }] },
    description:
      '`catalog`, `meta` and `stream`. Each item is a name, or an object with the name, the accepted types and the id prefixes',
  })
  resources: unknown[];

  @ApiProperty({ type: [String] })
  types: string[];

  @ApiProperty({ type: [String] })
  idPrefixes: string[];

  @ApiProperty({ type: 'array', items: { type: 'object', additionalProperties: true } })
  catalogs: object[];

  @ApiProperty({ type: 'object', additionalProperties: true })
  behaviorHints: object;
}

class AddonVideo {
  @ApiProperty()
  id: string;

  @ApiProperty()
  title: string;

  @ApiProperty({ type: 'integer' })
  season: number;

  @ApiProperty({ type: 'integer' })
  episode: number;

  @ApiPropertyOptional({ format: 'date-time' })
  released?: string;
}

class MetaPreview {
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

class Meta extends MetaPreview {
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

class AddonStream {
  @ApiProperty({ format: 'uri' })
  url: string;

  @ApiProperty({ example: '1080p' })
  name: string;

  @ApiPropertyOptional()
  description?: string;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description:
      '`bingeGroup`, `filename`, `videoSize`. `notWebReady` is true if `url` is not an MP4 over https',
  })
  behaviorHints: object;
}

export class AddonStreams extends Reasoned {
  @ApiProperty({ type: [AddonStream] })
  streams: AddonStream[];
}
