/** A part of the simulator's state that follows from nothing else. What it saves is plain JSON. */
export interface Part<Saved> {
  save(): Saved;
  /** Into a simulator that has just been made or reset. */
  restore(saved: Saved): void;
}

export type Snapshot = Readonly<Record<string, unknown>>;

/** All that must outlive the process, each part under a name of its own. */
export class Memory {
  private readonly parts = new Map<string, Part<unknown>>();

  keep<Saved>(name: string, part: Part<Saved>): void {
    this.parts.set(name, part);
  }

  snapshot(): Snapshot {
    return Object.fromEntries([...this.parts].map(([name, part]) => [name, part.save()]));
  }

  /**
   * In the order of registration: the world comes first, for the others speak of its athletes. A part that an older
   * snapshot does not know stays as new.
   */
  restore(snapshot: Snapshot): void {
    for (const [name, part] of this.parts) if (name in snapshot) part.restore(snapshot[name]);
  }
}
