import { z } from 'zod';
import { flag, maybe, Moment } from './values.js';

export interface Photo {
  readonly id: string;
  readonly caption: string | null;
  /** By the longer side in pixels. */
  readonly urls: Readonly<Record<string, string>>;
  readonly takenAt: Date | null;
  readonly location: readonly [latitude: number, longitude: number] | null;
  /** The one that stands for the activity. */
  readonly isDefault: boolean;
  readonly raw: Readonly<Record<string, unknown>>;
}

const WirePhoto = z.looseObject({
  unique_id: z.string().min(1),
  caption: maybe(z.string()),
  urls: z
    .record(z.string(), z.string())
    .nullish()
    .transform((urls) => urls ?? {}),
  created_at: maybe(Moment),
  location: maybe(z.tuple([z.number(), z.number()])),
  default_photo: flag,
});

export function toPhoto(json: unknown): Photo {
  const wire = WirePhoto.parse(json);
  return {
    id: wire.unique_id,
    caption: wire.caption,
    urls: wire.urls,
    takenAt: wire.created_at,
    location: wire.location,
    isDefault: wire.default_photo,
    raw: json as Readonly<Record<string, unknown>>,
  };
}
