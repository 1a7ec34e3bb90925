// Node loads this file before a built process (`NODE_OPTIONS=--import`). The query of its URL names a method of the product: `file` below
// dist/libs, `class` and `method`. The process kills itself at the `pass`-th call of the method, `before` the call or `after` it has
// returned something. The product has no code for it.
import 'reflect-metadata';

const query = new URL(import.meta.url).searchParams;
const { file, class: className, method, when, pass } = Object.fromEntries(query);
const module = await import(new URL(`../../dist/libs/${file}.js`, import.meta.url).href);
const original = module[className]?.prototype[method];
if (!original) throw new Error(`There is no ${className}.${method} in ${file}`);

let passesLeft = Number(pass);

function reach() {
  passesLeft -= 1;
  if (passesLeft === 0) process.kill(process.pid, 'SIGKILL');
}

// A claim that found nothing, or a write that a fence has rejected, is no pass.
const isSomething = (result) =>
  Array.isArray(result) ? result.length > 0 : result !== false && result !== 0;

module[className].prototype[method] = function wrapped(...values) {
  if (when === 'before') {
    reach();
    return original.apply(this, values);
  }
  const returned = original.apply(this, values);
  const end = (result) => {
    // Methods without a result return undefined; a claim that found nothing does, too, if its name says so.
    const foundNothing = /^claim/.test(method) && result === undefined;
    if (!foundNothing && isSomething(result)) reach();
    return result;
  };
  return typeof returned?.then === 'function' ? returned.then(end) : end(returned);
};
