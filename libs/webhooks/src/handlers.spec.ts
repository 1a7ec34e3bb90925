import { describe, expect, it } from '@jest/globals';
import { vendorsWith, VENDORS } from '#vendors';
import { done, EventHandlers } from './handlers.js';

const handler = { handle: () => Promise.resolve(done('applied')) };

describe('the registered handlers of webhook events', () => {
  it('a second handler for the same object is refused with a sentence that names the object', () => {
    const handlers = new EventHandlers();
    handlers.register('sleep', handler);
    expect(() => handlers.register('sleep', handler)).toThrow(
      'Two handlers are registered for webhook events about sleep',
    );
  });

  it('the start is refused with a sentence while a vendor sends events that no handler is registered for', () => {
    const handlers = new EventHandlers();
    handlers.register('activity', handler);
    expect(() => handlers.assertComplete()).toThrow(
      /^(\w+) sends webhook events about (\w+), but no handler is registered for them$/,
    );
    for (const vendor of vendorsWith('webhook'))
      for (const objectType of VENDORS[vendor].webhook?.objects ?? [])
        if (!handlers.of(objectType)) handlers.register(objectType, handler);
    expect(() => handlers.assertComplete()).not.toThrow();
  });
});
