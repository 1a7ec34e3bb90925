import { describe, expect, it } from '@jest/globals';
import { createLogger } from '../logging/logger.js';
import { Listeners, Registration } from './registrations.js';

interface Listener {
  happened(what: string): Promise<void>;
}

class Events extends Listeners<Listener> {
  constructor(lines: string[] = []) {
    const destination = { write: (line: string) => lines.push(line) };
    super('listener of events', createLogger({ level: 'error', process: 'test', destination }));
  }

  happened(what: string): Promise<void> {
    return this.callAll((listener) => listener.happened(what));
  }

  check(): void {
    this.assertAny();
  }
}

describe('registrations of a process', () => {
  it('a required implementation that is not registered is refused with a sentence that names it', () => {
    const registration = new Registration<object>('processor');
    expect(registration.get()).toBeUndefined();
    expect(() => registration.required()).toThrow('No processor is registered');
  });

  it('a second implementation is refused with a sentence, and the first one stays', () => {
    const registration = new Registration<string>('processor');
    registration.register('first');
    expect(() => registration.register('second')).toThrow(
      'A second processor is registered, but a process has one',
    );
    expect([registration.get(), registration.required()]).toEqual(['first', 'first']);
  });

  it('a listener that is registered twice is refused with a sentence, and so is a list without listeners', () => {
    const events = new Events();
    expect(() => events.check()).toThrow('No listener of events is registered');
    const listener: Listener = { happened: () => Promise.resolve() };
    events.register(listener);
    expect(() => events.check()).not.toThrow();
    expect(() => events.register(listener)).toThrow('The same listener of events is registered twice');
  });

  it('all listeners are called, also after listeners that throw or reject, and the failures are logged', async () => {
    const lines: string[] = [];
    const heard: string[] = [];
    const events = new Events(lines);
    events.register({
      happened: () => {
        throw new Error('thrown');
      },
    });
    events.register({ happened: () => Promise.reject(new Error('rejected')) });
    events.register({ happened: (what) => Promise.resolve(void heard.push(what)) });
    await events.happened('an event');
    expect(heard).toEqual(['an event']);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { msg: 'a listener of events failed', err: { message: 'thrown' } },
      { msg: 'a listener of events failed', err: { message: 'rejected' } },
    ]);
  });
});
