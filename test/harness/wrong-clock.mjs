// Node loads this file before a process (`--import`). It sets the process's Date ahead by CLOCK_AHEAD_MS, or back if that is negative.
// Timers and performance.now() are unchanged.
const aheadMs = Number(process.env.CLOCK_AHEAD_MS ?? 0);

globalThis.Date = new Proxy(Date, {
  construct: (RealDate, values, made) =>
    Reflect.construct(RealDate, values.length > 0 ? values : [RealDate.now() + aheadMs], made),
  apply: (RealDate) => new RealDate(RealDate.now() + aheadMs).toString(),
  get: (RealDate, name) => (name === 'now' ? () => RealDate.now() + aheadMs : RealDate[name]),
});
