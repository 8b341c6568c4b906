/**
 * Makes, imports and shows the wallet inside the signer's process, for a client that cannot reach the vault's folder.
 *
 * Invariant: words leave only sealed to the key of the client that knew the passphrase, and new ones only when their
 * vault is on the disk.
 */
import { CHAINS } from '../../domain/assets.ts';
import { areWordsNew, createWallet, deriveAccounts, walletFingerprint, wordsOf, wordsWereProved } from '../wallet.ts';
import { type CustodyResult, type CustodyTask, SEAL_WORDS } from './port.ts';
import { seal } from './seal.ts';

/** Throws `Rejected`: see `Signer.custody`. */
export async function carryOutCustody(folder: string, task: CustodyTask): Promise<CustodyResult> {
  const { passphrase } = task;
  if (task.do === 'create') {
    const { words } = task;
    const made = await createWallet(folder, { passphrase, ...(words === null ? {} : { words }) });
    const { fingerprint } = made;
    return made.words === undefined ? { fingerprint } : { fingerprint, words: await sealed(task.reply, made.words) };
  }
  const fingerprint = await walletFingerprint(folder);
  if (task.do === 'accounts') {
    const accounts = await deriveAccounts(folder, passphrase, task.network, task.accountNo, CHAINS);
    return { fingerprint, accounts, used: !(await areWordsNew(folder)) };
  }
  if (task.do === 'moneroWords' || task.do === 'importMonero' || task.do === 'dropMonero') {
    const { network, accountNo } = task;
    const { dropMoneroWords, importMoneroWords, moneroWordsIn } = await import('../monero-words.ts');
    if (task.do === 'moneroWords') {
      const words = await moneroWordsIn(folder, passphrase, network, accountNo);
      return { fingerprint, words: await sealed(task.reply, words.split(' ')) };
    }
    if (task.do === 'dropMonero') await dropMoneroWords(folder, passphrase, network, accountNo);
    else await importMoneroWords(folder, passphrase, { network, accountNo, words: task.words });
    return { fingerprint };
  }
  const words = await wordsOf(folder, passphrase);
  if (task.do === 'words') return { fingerprint, words: await sealed(task.reply, words) };
  await wordsWereProved(folder);
  return { fingerprint };
}

const sealed = (reply: string, words: readonly string[]) => seal(reply, SEAL_WORDS, words.join(' '));
