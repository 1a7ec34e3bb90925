import { parseArgs } from 'node:util';
import { Failure } from './failure.mjs';

/** The command's options, or one sentence about what is wrong with them. */
export function readArguments(args, options, usage, { allowPositionals = false } = {}) {
  try {
    return parseArgs({ args, options, allowPositionals });
  } catch (error) {
    const [sentence] = error.message.split('. ');
    throw new Failure(`${sentence}. Usage: ${usage}`);
  }
}
