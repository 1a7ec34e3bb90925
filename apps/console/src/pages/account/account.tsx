import { changePreferences, usePreferences } from '../../app/preferences.js';
import { useSession } from '../../app/session.js';
import { Choice } from '../../parts/choice.js';
import { Card, Facts, Page } from '../../parts/page.js';
import { Time } from '../../parts/time.js';
import { DeleteAthlete } from '../athletes/delete-athlete.js';

/** The session of this browser and how it shows things; for athletes also the export and the deletion of their data. */
export function Account() {
  const session = useSession();
  const { theme, units } = usePreferences();
  return (
    <Page title="Account">
      <div className="grid">
        <Card title="Session">
          <Facts
            facts={[
              ['Role', session.role === 'admin' ? 'operator' : 'athlete'],
              ['Subject', <code key="subject">{session.subject}</code>],
              ...(session.account && session.account !== session.subject
                ? [['Account', session.account] as const]
                : []),
              ['Athlete', session.athlete_id ? <code key="athlete">{session.athlete_id}</code> : '–'],
              ['Ends', <Time key="end" at={session.expires_at} />],
            ]}
          />
        </Card>
        <Card title="Display">
          <Choice
            label="Theme"
            value={theme}
            options={[
              ['system', 'As the system'],
              ['light', 'Light'],
              ['dark', 'Dark'],
            ]}
            onChange={(chosen) => changePreferences({ theme: chosen })}
          />
          <Choice
            label="Units"
            value={units}
            options={[
              ['km', 'Kilometres'],
              ['mi', 'Miles'],
            ]}
            onChange={(chosen) => changePreferences({ units: chosen })}
          />
        </Card>
        {session.role === 'athlete' && (
          <Card title="Your data">
            <p>
              The export has all that is stored about you: one file for each kind of record, in a tar.gz. It
              may take some seconds to begin.
            </p>
            <p>
              <a className="button" href="/v1/account/export" download>
                Export everything
              </a>
            </p>
            <DeleteAthlete phrase={session.athlete_id} />
          </Card>
        )}
      </div>
    </Page>
  );
}
