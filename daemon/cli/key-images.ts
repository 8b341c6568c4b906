/** `countinghouse business key-images`: what the other wallet of a view-only account of Monero has spent. */
import { createReadStream } from 'node:fs';
import type { Command } from 'commander';
import type { Result } from '../contract/operator.ts';
import { EXPORT_BYTES_MAX, importKeyImages } from '../operator/key-images.ts';
import { action, BUSINESS } from './commands.ts';
import { Failure, type Io } from './io.ts';
import { readPast } from './secrets.ts';
import type { Session } from './session.ts';

export function keyImagesCommand(business: Command, io: Io): void {
  business
    .command('key-images')
    .argument(...BUSINESS)
    .argument(
      '<file>',
      'of `export_key_images all FILE` in the other wallet, or the JSON of monero-wallet-rpc; - for the input',
    )
    .description('tell which coins of a view-only account of Monero were spent in the wallet that has its keys')
    .action(action(io, handIn));
}

async function handIn(session: Session, _: object, business = '', path = ''): Promise<void> {
  const done = await importKeyImages(session.call, business, await fileOf(session, path));
  session.print(done, () => importedText(done));
}

async function fileOf({ io }: Session, path: string): Promise<Uint8Array> {
  let file: Uint8Array;
  try {
    file = await readPast(path === '-' ? io.stdin : createReadStream(path), EXPORT_BYTES_MAX);
  } catch (error) {
    throw new Failure(`${path} cannot be read: ${(error as Error).message}`);
  }
  if (file.length > EXPORT_BYTES_MAX) throw new Failure(`${path} is too large`);
  return file;
}

function importedText({ learned, known, unmatched, unproven }: Result<'business.keyImages'>): string {
  const others = unmatched > 0 ? `, ${unmatched} of no coin that is known here, or with a wrong signature` : '';
  const left =
    unproven === '0'
      ? 'Every coin has its key image now: the balance is right once the blocks were searched.'
      : `${unproven} XMR came since, or have no key image in it: export again after the next block.`;
  return `Key images: ${learned} new, ${known} known${others}.\n${left}\n`;
}
