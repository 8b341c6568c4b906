/**
 * Making the operator's approvals: from the wallet's passphrase, in this process, which ends soon after.
 *
 * Invariant: only the MACs leave it. The sandbox's wallet has no passphrase, and needs no approval of this kind.
 */
import { join } from 'node:path';
import type { Result } from '../contract/operator.ts';
import { secretFile } from './secrets.ts';
import type { Session } from './session.ts';
import { askSecret } from './wallet.ts';

export type PassphraseOption = { passphraseFile?: string };

type Preview = Result<'withdrawal.previewBatch'>['preview'];
export type Approval = { uuid: string; fee_max: string; units?: string; until: number; mac: string | null };

const FOLDER = 'vault';

/** The approval of each intent, made with the wallet's passphrase. */
export async function approvalsFor(
  session: Session,
  options: PassphraseOption,
  { purpose, intents, until }: Preview,
): Promise<Approval[]> {
  const plain = intents.map(({ uuid, feeMax, units, sweep }) => ({
    ...{ uuid, fee_max: feeMax, until, mac: null },
    ...(sweep ? { units } : {}),
  }));
  if (intents.every(({ network }) => network === 'sandbox')) return plain;
  const passphrase = await passphraseOf(session, options);
  const { approvalMacs } = await import('../wallet/wallet.ts');
  type Intent = Parameters<typeof approvalMacs>[2][number]['intent'];
  const approvables = intents.map((intent) => ({ purpose, intent: intent as Intent, until }));
  const macs = await approvalMacs(join(session.dataDir, FOLDER), passphrase, approvables);
  return plain.map((approval, at) => ({ ...approval, mac: macs[at] ?? null }));
}

type Grants = Result<'policy.grants'>['grants'];

/** The operator's word for each grant of a policy. */
export async function signedGrants(session: Session, options: PassphraseOption, grants: Grants) {
  if (grants.length === 0) return [];
  const passphrase = await passphraseOf(session, options);
  const { policyMac } = await import('../wallet/wallet.ts');
  type Grant = Parameters<typeof policyMac>[2];
  const folder = join(session.dataDir, FOLDER);
  const signed = [];
  for (const grant of grants) signed.push({ grant, mac: await policyMac(folder, passphrase, grant as Grant) });
  return signed;
}

export const passphraseOf = (session: Session, { passphraseFile }: PassphraseOption): Promise<string> =>
  passphraseFile === undefined
    ? askSecret(session, 'Passphrase of the wallet:', '--passphrase-file')
    : secretFile(passphraseFile, '--passphrase-file');
