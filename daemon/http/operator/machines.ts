/** Methods about the computer at home that signs. */
import { type GivenAddress, givenAddresses, openAddresses } from '../../app/addresses/given.ts';
import { monitor } from '../../app/operator/monitor.ts';
import type { Result } from '../../contract/operator.ts';
import type { SIGNING_MACHINE } from '../../contract/signing-machine.ts';
import { isoOrNull, toIso } from '../../domain/calendar.ts';
import { Rejected } from '../../domain/errors.ts';
import type { Context, Methods } from './context.ts';

export const MACHINE_METHODS: Methods<typeof SIGNING_MACHINE> = {
  'address.given': async ({ app }, { from, limit }) => {
    const { given, last } = givenAddresses(app, from, limit);
    return { given: given.map((one) => ({ no: one.no, invoice: one.invoice, ...placeOf(one) })), last };
  },
  'address.open': async ({ app }, { before = Number.MAX_SAFE_INTEGER, limit }) => {
    const { open, next } = openAddresses(app, before, limit);
    const pages = `${app.publicUrl}/pay/`;
    return { open: open.map((one) => ({ invoice: one.invoice, ...placeOf(one) })), pages, next };
  },
  'signer.invite': async ({ app, extra }) => {
    const { state } = await app.signer.status();
    const isHere = extra.machines.machine() === null && (state !== 'none' || app.config.wallet.signer !== null);
    if (isHere) throw new Rejected('signer.machine', HERE);
    const { url } = await (await extra.console()).address();
    const { code, endsAt } = await extra.machines.invite();
    return { server: url, code, ends_at: toIso(endsAt) };
  },
  'signer.machines': async (context) => list(context),
  'signer.remove': async (context, { name }) => {
    await context.extra.machines.remove(name);
    return list(context);
  },
};

const placeOf = ({ network, chain, accountNo, index, texts }: GivenAddress) => ({
  network,
  chain,
  account_no: accountNo,
  index,
  addresses: texts,
});

const HERE =
  'The words of this server are on the server itself. resources/docs/keys.md tells how to move: a computer at home signs for words that are there alone';

function list({ app, extra: { machines } }: Context): Result<'signer.machines'> {
  const machine = machines.machine();
  if (!machine) return { machines: [] };
  const { withdrawals } = monitor(app, false);
  const since = machines.connectedSince ?? machine.seenAt;
  const one = {
    name: machine.name,
    fingerprint: machine.fingerprint,
    connected: machines.connectedSince !== null,
    since: isoOrNull(since),
    waiting: withdrawals.find(({ state }) => state === 'approved')?.waiting ?? 0,
  };
  return { machines: [one] };
}
