import { useQuery } from '@tanstack/react-query';
import { answerOf, api } from '../../app/api.js';
import { count } from '../../format/numbers.js';
import { ActionButton } from '../../parts/action-button.js';
import { Drawer } from '../../parts/drawer.js';
import { Json } from '../../parts/json.js';
import { Facts } from '../../parts/page.js';
import { Loaded } from '../../parts/states.js';
import { Time } from '../../parts/time.js';

interface DeadLetterProps {
  readonly seq: number;
  readonly onClose: () => void;
}

const LIST = [['dead-letters']];

/** One dead letter: why it failed, its headers and its payload. */
export function DeadLetter({ seq, onClose }: DeadLetterProps) {
  const query = useQuery({
    queryKey: ['dead-letter', seq],
    queryFn: () => answerOf(api.GET('/admin/dlq/{seq}', { params: { path: { seq } } })),
    meta: { changes: ['overview'] },
  });
  const params = { path: { seq } };
  return (
    <Drawer
      title={`Dead letter ${count(seq)}`}
      onClose={onClose}
      actions={
        query.data && (
          <>
            <ActionButton
              label="Replay"
              tone="main"
              run={async () => {
                await answerOf(api.POST('/admin/dlq/{seq}/replay', { params }));
                onClose();
              }}
              refreshes={LIST}
            />
            <ActionButton
              label="Discard"
              tone="danger"
              run={async () => {
                await answerOf(api.DELETE('/admin/dlq/{seq}', { params }));
                onClose();
              }}
              refreshes={LIST}
              confirm={{
                title: `Discard dead letter ${count(seq)}`,
                phrase: String(seq),
                text: 'The message is deleted and cannot be brought back.',
              }}
            />
          </>
        )
      }
    >
      <Loaded query={query} lines={8}>
        {(letter) => (
          <>
            <Facts
              facts={[
                ['Reason', letter.reason],
                ['Error', letter.error ?? '–'],
                ['Subject', <code key="subject">{letter.subject}</code>],
                ['Attempts', letter.attempts === null ? '–' : count(letter.attempts)],
                ['Since', <Time key="at" at={letter.at} />],
              ]}
            />
            <section>
              <h3>Headers</h3>
              <Facts
                facts={Object.entries(letter.headers).map(([name, values]) => [
                  name,
                  <code key={name}>{values.join(', ')}</code>,
                ])}
              />
            </section>
            <section>
              <h3>Payload</h3>
              <Json value={letter.payload} label="Payload" />
            </section>
          </>
        )}
      </Loaded>
    </Drawer>
  );
}
