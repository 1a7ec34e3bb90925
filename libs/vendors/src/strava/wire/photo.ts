import { z } from 'zod';
import { type Photo } from '../../capabilities/activities.js';
import { maybe, readList } from '../../capabilities/reading.js';
import { flag, Moment } from './values.js';

const WirePhoto = z.object({
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

/** Leaves out and counts the photos that cannot be parsed. Throws the first error if none can be parsed. */
export function toPhotos(items: readonly unknown[]): readonly Photo[] {
  return readList(items, toPhoto, { vendor: 'strava', endpoint: 'photos' }).readable;
}

function toPhoto(json: unknown): Photo {
  const wire = WirePhoto.parse(json);
  return {
    id: wire.unique_id,
    caption: wire.caption,
    urls: wire.urls,
    takenAt: wire.created_at,
    location: wire.location,
    isDefault: wire.default_photo,
  };
}
