/** A part of the simulator's state that cannot be derived. `save` returns plain JSON. */
export interface StatePart<Saved> {
  save(): Saved;
  /** Call this only right after creation or reset of the simulator. */
  restore(saved: Saved): void;
}

export type Snapshot = Readonly<Record<string, unknown>>;

/** The parts of the state that are saved, each under its own name. */
export class Memory {
  private readonly parts = new Map<string, StatePart<unknown>>();

  keep<Saved>(name: string, part: StatePart<Saved>): void {
    this.parts.set(name, part);
  }

  snapshot(): Snapshot {
    return Object.fromEntries([...this.parts].map(([name, part]) => [name, part.save()]));
  }

  /**
   * Restores the parts in the order of registration. The world comes first, because the other parts refer to its athletes.
   * A part that is missing in an older snapshot keeps its initial state.
   */
  restore(snapshot: Snapshot): void {
    for (const [name, part] of this.parts) if (name in snapshot) part.restore(snapshot[name]);
  }
}
