/** `countinghouse withdrawal psbt` and `signed`: withdrawals of accounts whose keys are in another wallet, such as a hardware wallet. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { SIGNED_BYTES_MAX } from '../contract/withdrawals.ts';
import { action } from './commands.ts';
import { Failure, type Io } from './io.ts';
import { withdrawalNumber } from './parse.ts';
import type { Session } from './session.ts';

const NUMBER = ['<number>', 'number of the withdrawal', withdrawalNumber] as const;

export function psbtCommands(withdrawal: Command, io: Io): void {
  withdrawal
    .command('psbt')
    .argument(...NUMBER)
    .option('--out <file>', 'write it to this new file, in binary; default: to stdout, in base64')
    .description('get the unsigned transaction of an approved withdrawal (PSBT) for the wallet that has the keys')
    .action(action(io, psbt));
  withdrawal
    .command('signed')
    .argument(...NUMBER)
    .argument('<file>', 'the signed PSBT (binary, base64 or hex), or the finished transaction in hex')
    .description('hand in what that wallet signed: it is compared with what was planned, and sent')
    .action(action(io, signed));
}

async function psbt(session: Session, { out }: { out?: string }, id = ''): Promise<void> {
  const found = await session.call('withdrawal.psbt', { id });
  if (out === undefined) {
    session.print(found, () => `${found.psbt}\n`);
    return;
  }
  try {
    await writeFile(out, Buffer.from(found.psbt, 'base64'), { flag: 'wx' });
  } catch (error) {
    throw new Failure(`${out} cannot be written: ${(error as Error).message}`);
  }
  session.print({ ...found, file: out }, () => handedText(session, id, out));
}

const handedText = (session: Session, id: string, file: string): string =>
  `${file} is the PSBT of withdrawal ${id}. Compare recipient and amount in the wallet that signs it. ` +
  `Then: ${session.commandText(`withdrawal signed ${id} FILE`)}\n`;

async function signed(session: Session, _: object, id = '', file = ''): Promise<void> {
  const done = await session.call('withdrawal.signed', { id, signed: (await fileOf(file)).toString('base64') });
  session.print(done, () => `Withdrawal ${id} is signed as planned, and is sent now.\n`);
}

async function fileOf(path: string): Promise<Buffer> {
  try {
    const { size } = await stat(path);
    if (size === 0) throw new Error('it is empty');
    if (size > SIGNED_BYTES_MAX)
      throw new Error(`it has more than ${SIGNED_BYTES_MAX} bytes: give the finished transaction`);
    return await readFile(path);
  } catch (error) {
    throw new Failure(`${path} cannot be read: ${(error as Error).message}`);
  }
}
