// Node loads this file before a built process (`NODE_OPTIONS=--import`). A signal of the test then causes an error outside of any request.
process.on('SIGUSR2', () => void Promise.reject(new Error('a dropped promise')));
process.on('SIGWINCH', () => {
  setTimeout(() => {
    throw new Error('thrown in a timer');
  });
});
