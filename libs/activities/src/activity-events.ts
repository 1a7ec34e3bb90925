import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Athletes } from '#connections';
import { LOGGER, type Logger, Registration } from '#platform';
import { type CallContext, type CallFailure, type DetailedActivity, Sources, type VendorId } from '#vendors';
import { done, type EventGroup, type EventHandler, type EventOwner, type HandlerAnswer } from '#webhooks';
import { ActivityStore, type SavedDetail } from './activity-store.js';

// The longest wait for a permit: an athlete who has just uploaded waits for the call, and a boundary passes within seconds.
const WAIT_MS = 10_000;
// An activity may follow its event by minutes. The tenth attempt is made 43 min after the first; the daily reconciliation finds a later one.
const ATTEMPTS_BEFORE_NO_UPLOAD = 10;

interface Upload {
  readonly id: string;
  readonly athleteId: string;
  readonly provider: VendorId;
  readonly externalActivityId: string;
  /** The request that brought the event. */
  readonly requestId: string | null;
}

interface UploadListener {
  /** Never rejects. */
  uploaded(upload: Upload): Promise<void>;
}

/** The lib that fetches the streams of a new activity. A call is lost if the process dies, so that lib also has a sweep. */
@Injectable()
export class Uploads extends Registration<UploadListener> implements OnApplicationBootstrap {
  constructor() {
    super('listener to uploads');
  }

  onApplicationBootstrap(): void {
    this.required();
  }
}

type Refusal = Extract<CallFailure, { kind: 'revoked' | 'refused' }>;

/**
 * Applies webhook events: fetches changed activities and removes deleted ones. An event is only a hint: one call shows whether the vendor
 * still has the activity. An athlete waits for the result, so the calls are `live` and may use the whole budget. This class does not retry;
 * the event queue does.
 */
@Injectable()
export class ActivityEvents implements EventHandler {
  constructor(
    private readonly sources: Sources,
    private readonly athletes: Athletes,
    private readonly store: ActivityStore,
    private readonly uploads: Uploads,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  async handle(owner: EventOwner, group: EventGroup): Promise<HandlerAnswer> {
    const { vendor: provider, objectId: externalActivityId, events, origin } = group;
    const { athleteId } = owner;
    const context = { athleteId, class: 'live', waitMs: WAIT_MS } as const;
    const found = await this.sources.activities(provider).activity(context, externalActivityId);
    if (found.kind === 'gone') return this.absent(owner, group, found.reason);
    if (found.kind !== 'ok') return found;
    const saved = await this.save(owner, group, found.value);
    if (!saved) return done('applied');
    const refusal = await this.fetchPhotos(context, owner, group, saved);
    if (refusal) return refusal;
    // Not awaited: the event is handled, and a second vendor call could outlast the lease of the event.
    if (events.some(({ aspect }) => aspect === 'create') && saved.stream_fetch_status === 'pending')
      void this.uploads.required().uploaded({
        ...{ id: saved.id, athleteId, provider, externalActivityId },
        requestId: origin.requestId,
      });
    return done('applied');
  }

  /** The vendor does not have the activity, or hides it from us. */
  private async absent(
    { athleteId, generation }: EventOwner,
    { vendor: provider, objectId, latest }: EventGroup,
    reason: string,
  ): Promise<HandlerAnswer> {
    if (latest.aspect === 'delete') {
      await this.athletes.aloneInGeneration(athleteId, generation, (sql) =>
        this.store.remove(sql, { athleteId, provider }, objectId),
      );
      return done('deleted');
    }
    // With events of each change, an event of the deletion follows. Without them the vendor may not show the new activity yet.
    const mayCome = this.sources.activities(provider).events === 'uploads';
    if (mayCome && latest.attempts < ATTEMPTS_BEFORE_NO_UPLOAD) return { kind: 'failed', reason };
    return done('ignored');
  }

  /** The answer counts as of the claim. It changes nothing in a later connection of the athlete. */
  private save(
    { athleteId, generation }: EventOwner,
    { vendor: provider, claimedAt }: EventGroup,
    detail: DetailedActivity,
  ): Promise<SavedDetail | undefined> {
    return this.athletes.inGeneration(athleteId, generation, (sql) =>
      this.store.saveDetail(sql, { athleteId, provider }, detail, claimedAt),
    );
  }

  /** If the vendor is away, photos stay pending for the next import. A retry of the event would fetch the detail once more. */
  private async fetchPhotos(
    context: CallContext,
    { athleteId, generation }: EventOwner,
    { vendor: provider, objectId }: EventGroup,
    { id, photos_status }: SavedDetail,
  ): Promise<Refusal | undefined> {
    if (photos_status !== 'pending') return undefined;
    const photos = await this.sources.activities(provider).photos(context, objectId);
    if (photos.kind === 'revoked' || photos.kind === 'refused') return photos;
    if (photos.kind !== 'ok') {
      this.logger.info({ reason: photos.reason, activity: objectId }, 'photos left for the next import');
      return undefined;
    }
    await this.athletes.inGeneration(athleteId, generation, (sql) =>
      this.store.savePhotos(sql, id, photos.value),
    );
    return undefined;
  }
}
