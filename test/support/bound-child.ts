/** Programs of tests that end with the process that starts them, however that one ends. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Of util-linux. It has the kernel kill a program when its parent is gone (PR_SET_PDEATHSIG of prctl(2)). */
const SETPRIV = '/usr/bin/setpriv';
const PREFIX = existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', 'KILL'] : [];

/** As `spawn`: the process's id and its signals are the program's. */
export const spawnBound = ((program: string, args: readonly string[], options: object) => {
  const [first = program, ...rest] = [...PREFIX, program, ...args];
  return spawn(first, rest, options);
}) as typeof spawn;
