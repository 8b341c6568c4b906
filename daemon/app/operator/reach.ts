/** Tests of the public address: a page that a telephone opens, and what was seen of it. One test at a time, kept over a restart. */
import { randomBytes } from 'node:crypto';
import { isLocalAddress } from '../../kit/own-network.ts';
import { saveSetting, settingOf } from '../../store/queries/settings.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';

const TEST = 'reach.test';
const OPENED = 'reach.opened';
const CODE_BYTES = 16;
export const TEST_MS = 600_000;

/** `network`: null for an address that is a proxy's on this machine. */
export type Opening = { at: number; network: 'own' | 'internet' | null };
type Test = { code: string; url: string; endsAt: number; opened: Opening | null };

const read = <T>(reader: Reader, key: string): T | null => {
  const row = reader.get(settingOf, { key });
  return row ? (JSON.parse(row.value) as T) : null;
};
const write = (app: App, tx: Tx, key: string, value: object): void => {
  tx.run(saveSetting, { key, value: JSON.stringify(value), updated_at: app.now() });
};

/** The address of a new test, which ends the one before. */
export async function beginReachTest(app: App): Promise<Test> {
  const code = randomBytes(CODE_BYTES).toString('base64url');
  const url = `${app.publicUrl}/pay/reach/${code}`;
  const test: Test = { code, url, endsAt: app.now() + TEST_MS, opened: null };
  await app.store.write((tx) => write(app, tx, TEST, test));
  return test;
}

/** The last test, and the last one of the present address that a device opened. */
export function reachTests(app: App): { test: Test | null; tested: Opening | null } {
  const last = read<{ base: string } & Opening>(app.store, OPENED);
  const test = read<Test>(app.store, TEST);
  const isPresent = test?.url.startsWith(`${app.publicUrl}/`) === true;
  return {
    test: isPresent && (test.opened !== null || test.endsAt >= app.now()) ? test : null,
    tested: last?.base === app.publicUrl ? { at: last.at, network: last.network } : null,
  };
}

/** Notes that a device has opened the page of a test, once. `address`: the device's. Null: there is no such test, or not any more. */
export async function openReachTest(app: App, code: string, address: string): Promise<Opening | null> {
  const present = read<Test>(app.store, TEST);
  if (present?.code !== code || present.endsAt < app.now()) return null;
  if (present.opened) return present.opened;
  const isProxy = address === '' || /^(?:::ffff:)?127\.|^::1$/.test(address);
  const network = isProxy ? null : isLocalAddress(address) ? 'own' : 'internet';
  const opened: Opening = { at: app.now(), network };
  await app.store.write((tx) => {
    const test = read<Test>(tx, TEST);
    if (test?.code !== code || test.opened) return;
    write(app, tx, TEST, { ...test, opened });
    write(app, tx, OPENED, { base: app.publicUrl, ...opened });
  });
  return opened;
}
