// Preloaded into a measured process, with --expose-gc: the process collects its garbage at each SIGUSR2, so that its RSS shows what it keeps.
process.on('SIGUSR2', () => {
  // The second pass frees what finalizers of the first have let go.
  globalThis.gc?.();
  globalThis.gc?.();
});
