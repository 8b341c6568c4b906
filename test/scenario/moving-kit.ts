/** What a test of a move home reads of `signer move`. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Step } from '../../daemon/cli/moving-home.ts';
import { cli } from '../unit/cli-kit.ts';

export type Moving = { side: string; next: string | null; steps: Step[] };

/** Runs a command on a data directory; it must succeed. */
export async function ran(dataDir: string, ...argv: string[]): Promise<string> {
  const { code, out, err } = await cli(dataDir, ['--yes', ...argv]);
  expect(err.includes('error:') ? err : code).toBe(0);
  return out;
}

export function stepOf({ steps }: Moving, name: string): Step {
  const found = steps.find(({ step }) => step === name);
  expect(found, name).toBeDefined();
  return found!;
}

/** The words of a command that a step names for here, without the program. */
export function commandOf(step: Step, at = 0): string[] {
  const { at: place, command } = step.commands[at]!;
  expect(place).toBe('here');
  return command.replace('countinghouse ', '').replace('--server shop ', '').split(' ');
}

/** The wallet and its record, as they lie in the vault of a service. */
export const walletFiles = async (dataDir: string): Promise<string[]> =>
  (await readdir(join(dataDir, 'vault'))).filter((name) => /^(wallet\.json|signer-journal\.)/.test(name));
