import { type FormEvent, useState } from 'react';
import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';
import { answerOf, api, type Schema } from '../../app/api.js';
import { Copy } from '../../parts/copy.js';
import { Drawer } from '../../parts/drawer.js';
import { FailedLine } from '../../parts/states.js';

type Scope = Schema<'CreateKey'>['scopes'][number];

const SCOPES: ReadonlyArray<readonly [scope: Scope, allows: string]> = [
  ['read', 'GET requests'],
  ['write', 'all other requests, and the export'],
  ['events', 'the changes, and webhook endpoints'],
  ['ingest', 'sending nights'],
];

interface NewKeyProps {
  readonly listKey: QueryKey;
  readonly onClose: () => void;
}

/** Creates a key and shows it once: the server stores only a hash of it. */
export function NewKey({ listKey, onClose }: NewKeyProps) {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<readonly Scope[]>(['read']);
  const create = useMutation({
    mutationFn: () => answerOf(api.POST('/admin/keys', { body: { name: name.trim(), scopes: [...scopes] } })),
    // The key must not stay in memory after the drawer is closed.
    gcTime: 0,
    onSuccess: () => queries.invalidateQueries({ queryKey: listKey }),
  });
  function submit(event: FormEvent): void {
    event.preventDefault();
    create.mutate();
  }
  if (create.data)
    return (
      <Drawer title={`Key “${create.data.name}”`} onClose={onClose}>
        <p>This is the only time that the key is shown. Keep it where the app reads its secrets.</p>
        <Copy label="Key" text={create.data.key} />
      </Drawer>
    );
  return (
    <Drawer title="Create a key" onClose={onClose}>
      <form className="new-key" onSubmit={submit}>
        <label htmlFor="key-name">Name</label>
        <input
          id="key-name"
          data-first-focus
          required
          autoComplete="off"
          maxLength={100}
          value={name}
          onChange={({ target }) => setName(target.value)}
        />
        <fieldset>
          <legend>The key allows</legend>
          {SCOPES.map(([scope, allows]) => (
            <label key={scope}>
              <input
                type="checkbox"
                checked={scopes.includes(scope)}
                onChange={({ target }) =>
                  setScopes(target.checked ? [...scopes, scope] : scopes.filter((one) => one !== scope))
                }
              />
              <span>
                <b>{scope}</b> {allows}
              </span>
            </label>
          ))}
        </fieldset>
        {create.error && <FailedLine problem={create.error} />}
        <button
          type="submit"
          className="button button-main"
          disabled={create.isPending || name.trim() === '' || scopes.length === 0}
        >
          Create the key
        </button>
      </form>
    </Drawer>
  );
}
