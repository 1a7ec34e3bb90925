import { useState } from 'react';
import { useMutation } from '@tanstack/react-query';
import { answerOf, api, onBehalfOf, type Schema } from '../../app/api.js';
import {
  type ActivityVendorId,
  afterConnecting,
  hasActivities,
  type VendorId,
  vendorName,
  vendorsWith,
} from '../../format/vendors.js';
import { ActionButton } from '../../parts/action-button.js';
import { Badge } from '../../parts/badge.js';
import { Card } from '../../parts/page.js';
import { FailedLine } from '../../parts/states.js';
import { Time } from '../../parts/time.js';

type Connection = Schema<'ConnectionItem'>;

interface ConnectionsCardProps {
  /** The athlete whom an operator looks at; absent on the athlete's own page. */
  readonly athleteId?: string;
  readonly connections: readonly Connection[];
}

/** The athlete's account at each vendor, with what can be done about it. */
export function ConnectionsCard({ athleteId, connections }: ConnectionsCardProps) {
  const vendors = vendorsWith();
  return (
    <Card title="Connections" aside={`${connections.length} of ${vendors.length} vendors`}>
      <ul className="connections">
        {vendors.map((vendor) => {
          const connection = connections.find(({ provider }) => provider === vendor);
          return (
            <li key={vendor}>
              <strong>{vendorName(vendor)}</strong>
              {connection ? (
                <Connected connection={connection} athleteId={athleteId} />
              ) : (
                <NotConnected vendor={vendor} athleteId={athleteId} />
              )}
            </li>
          );
        })}
      </ul>
    </Card>
  );
}

interface ConnectedProps {
  readonly connection: Connection;
  readonly athleteId: string | undefined;
}

function Connected({ connection, athleteId }: ConnectedProps) {
  const { provider, status, vendor_athlete_id, scopes, connected_at } = connection;
  return (
    <>
      <Badge state={status} />
      <div className="connection-facts">
        <span>
          id <code>{vendor_athlete_id}</code>, connected <Time at={connected_at} />
        </span>
        <small>{scopes.length > 0 ? `scopes: ${scopes.join(', ')}` : 'no scopes were named'}</small>
        {status === 'needs_reauth' && (
          <small className="note-bad">
            {vendorName(provider)} ended the permission. {athleteId ? 'The athlete has' : 'You have'} to
            connect again.
          </small>
        )}
      </div>
      <div className="actions">
        {status === 'needs_reauth' && !athleteId && <ConnectButton vendor={provider} label="Connect again" />}
        {status === 'active' && hasActivities(provider) && (
          <ImportButtons vendor={provider} athleteId={athleteId} />
        )}
        <DisconnectButton connection={connection} athleteId={athleteId} />
      </div>
    </>
  );
}

interface VendorProps {
  readonly vendor: VendorId;
  readonly athleteId: string | undefined;
}

function NotConnected({ vendor, athleteId }: VendorProps) {
  return (
    <>
      <Badge state="not connected" />
      <div className="connection-facts">
        <small>{athleteId ? 'Only the athlete can connect a vendor.' : afterConnecting(vendor)}</small>
      </div>
      {!athleteId && (
        <div className="actions">
          <ConnectButton vendor={vendor} label={`Connect ${vendorName(vendor)}`} />
        </div>
      )}
    </>
  );
}

/** Asks for the vendor's consent page and then shows the link to it: a browser would block a window that opens after a request. */
function ConnectButton({ vendor, label }: { readonly vendor: VendorId; readonly label: string }) {
  const begin = useMutation({
    mutationFn: () =>
      answerOf(api.POST('/v1/connections/{provider}', { params: { path: { provider: vendor } }, body: {} })),
  });
  if (begin.data)
    return (
      <a className="button button-main" href={begin.data.authorize_url} target="_blank" rel="noreferrer">
        Continue at {vendorName(vendor)}
      </a>
    );
  return (
    <>
      <button type="button" className="button" disabled={begin.isPending} onClick={() => begin.mutate()}>
        {label}
      </button>
      {begin.error && <FailedLine problem={begin.error} />}
    </>
  );
}

interface ImportButtonsProps {
  readonly vendor: ActivityVendorId;
  readonly athleteId: string | undefined;
}

function ImportButtons({ vendor, athleteId }: ImportButtonsProps) {
  async function run(type: 'full' | 'incremental'): Promise<string> {
    const begun = await answerOf(
      api.POST('/v1/imports', { body: { type, provider: vendor }, ...onBehalfOf(athleteId) }),
    );
    return begun.finished_at ? `Nothing new: ${begun.message}` : begun.message;
  }
  const refreshes = [['imports'], ['athletes'], ['athlete']];
  return (
    <>
      <ActionButton label="Import what is new" run={() => run('incremental')} refreshes={refreshes} />
      <ActionButton label="Import all again" run={() => run('full')} refreshes={refreshes} />
    </>
  );
}

function DisconnectButton({ connection, athleteId }: ConnectedProps) {
  const { provider, vendor_athlete_id } = connection;
  const [receipt, setReceipt] = useState<string>();
  const name = vendorName(provider);
  return (
    <>
      <ActionButton
        label="Disconnect"
        tone="danger"
        confirm={{
          title: `Disconnect ${name}`,
          phrase: vendor_athlete_id,
          text: `The permission ends at ${name}, and all data from ${name} is deleted here. This cannot be undone.`,
        }}
        run={async () => {
          const { receipt_id } = await answerOf(
            api.DELETE('/v1/connections/{provider}', {
              params: { path: { provider } },
              ...onBehalfOf(athleteId),
            }),
          );
          setReceipt(receipt_id);
        }}
        refreshes={[['athlete'], ['athletes'], ['connections'], ['imports'], ['receipts'], ['activities']]}
      />
      {receipt && <a href={`/console/receipts/${receipt}`}>Receipt</a>}
    </>
  );
}
