const PLACE = Symbol('place in hand');
const UNTIL = Symbol('in hand until');

interface Held {
  [PLACE]?: number | undefined;
  [UNTIL]?: number;
}

/**
 * What is being worked on, and until when it may be. A thing knows its own place in a list, rather than being an entry of a Map: a Map
 * whose entries come and go is rebuilt all the time, and V8 keeps what an outgrown table held alive through the table that
 * followed it. With requests that doubled the heap under load and took a fifth of a trivial request's time.
 */
export class InHand<Thing extends object> {
  private readonly held: Array<Thing & Held> = [];

  add(thing: Thing & Held, untilMs: number): void {
    if (thing[PLACE] !== undefined) return;
    thing[PLACE] = this.held.length;
    thing[UNTIL] = untilMs;
    this.held.push(thing);
  }

  remove(thing: Thing & Held): void {
    const place = thing[PLACE];
    if (place === undefined) return;
    thing[PLACE] = undefined;
    const last = this.held.pop();
    if (last === undefined || last === thing) return;
    last[PLACE] = place;
    this.held[place] = last;
  }

  late(nowMs: number): Thing[] {
    return this.held.filter(({ [UNTIL]: untilMs = Infinity }) => nowMs >= untilMs);
  }
}
