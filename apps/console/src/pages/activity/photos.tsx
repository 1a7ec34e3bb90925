import { counted } from '../../format/numbers.js';
import { Card } from '../../parts/page.js';
import { Time } from '../../parts/time.js';
import { type Detail } from './queries.js';

interface PhotosProps {
  readonly photos: Detail['photos'];
  readonly vendor: string;
}

/** Links and no pictures: the photos lie with the vendor, and the console loads nothing from elsewhere, so that no vendor learns who looks at them. */
export function Photos({ photos, vendor }: PhotosProps) {
  if (photos.length === 0) return null;
  return (
    <Card title="Photos" aside={counted(photos.length, 'photo')}>
      <ul className="photos">
        {photos.map((photo) => {
          const address = largest(photo.urls);
          const words = photo.caption || (photo.is_default ? 'Cover photo' : 'Photo');
          return (
            <li key={photo.id}>
              {address ? (
                <a href={address} target="_blank" rel="noreferrer">
                  {words}
                </a>
              ) : (
                words
              )}
              <small>
                {photo.taken_at && <Time at={photo.taken_at} />}
                {photo.is_default && photo.caption && ', cover'}
                {address ? `, opens at ${vendor}` : ', without an address'}
              </small>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}

function largest(urls: Readonly<Record<string, string>>): string | undefined {
  const [longest] = Object.entries(urls).sort(([a], [b]) => Number(b) - Number(a));
  return longest && /^https?:/.test(longest[1]) ? longest[1] : undefined;
}
