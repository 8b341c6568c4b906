/**
 * A connection that ends at each byte of a signing answer: of the signer's lines, over a line in memory, and of a WebSocket's frames, over TCP.
 * `signing-machine.test.ts` has the computer at home connect again by itself.
 */
import { duplexPair, Transform } from 'node:stream';
import { expect, it } from 'vitest';
import type { SignedSpend } from '../../../daemon/domain/spend.ts';
import { aboutOf } from '../../../daemon/home/about.ts';
import { dial } from '../../../daemon/home/dial.ts';
import { readServer } from '../../../daemon/home/place.ts';
import { streamChannel } from '../../../daemon/wallet/signer/channel.ts';
import { SignerClient } from '../../../daemon/wallet/signer/client.ts';
import type { SignOrder } from '../../../daemon/wallet/signer/port.ts';
import { serveServer } from '../../../daemon/wallet/signer/service.ts';
import { Session } from '../../../daemon/wallet/signer/session.ts';
import { isSampled, REPEAT } from '../../support/sample.ts';
import { PASSPHRASE, payment, walletFolder } from '../wallet/signer-kit.ts';
import { away, connected, homeOf, journalOf, serverIn, stage, stageEach, tunnel, walletAtHome } from './home-kit.ts';

stageEach();

/** Of the bytes at which it ends, one of so many is tried in a run, and always the first and the last ones. */
const ONE_OF = 12;
/** Signing takes longest, so between two times that the wallet signs, its last answer is said again. */
const SIGNED_EVERY = 16;
const MACHINE = { name: 'Laptop', fingerprint: null, seenAt: null };

/** A wallet at home, and a server whose next connection to it ends once home has said so many bytes. */
async function pair() {
  const { folder, remove } = await walletFolder();
  const session = await Session.open(folder, PASSPHRASE, Date.now);
  let signed: Promise<SignedSpend> | null = null;
  let asked = 0;
  const sign = (order: SignOrder): Promise<SignedSpend> => {
    if (asked++ % SIGNED_EVERY === 0) signed = session.sign(order);
    return signed!;
  };
  const line = { left: Number.POSITIVE_INFINITY, said: 0 };
  const connect = () => {
    const [near, far] = duplexPair();
    const cut = new Transform({
      transform(chunk: Buffer, _, done) {
        line.said += chunk.length;
        const rest = chunk.subarray(0, Math.max(line.left, 0));
        line.left -= chunk.length;
        if (rest.length > 0) this.push(rest);
        if (line.left < 0) this.push(null);
        done();
      },
    });
    const [server, relay] = duplexPair();
    far.pipe(cut).pipe(relay).pipe(far);
    server.on('error', () => {});
    // what came before the end has been read then
    server.once('end', () => server.destroy());
    void serveServer(near, { sign } as SignerClient, async () => false);
    return streamChannel(server);
  };
  let channel: ReturnType<typeof connect> | null = null;
  const signer = new SignerClient({
    folder,
    home: {
      machine: () => MACHINE,
      connect() {
        const made = channel ?? connect();
        channel = made;
        made.onEnd(() => {
          if (channel === made) channel = null;
        });
        return made;
      },
    },
    autoLockMinutes: 0,
    source: () => ({ kind: 'prompt' }),
    sandbox: { sign: () => Promise.reject(new Error('no sandbox here')) },
    log: () => {},
  });
  const close = async () => {
    await signer.close();
    await session.close();
    await remove();
  };
  return { folder, line, signer, close };
}

it('gives no signature when it ends at any byte of the answer but its last, and the same bytes when it is asked again', async () => {
  const { folder, line, signer, close } = await pair();
  const order = payment('LTC', ['cut']);
  const first = await signer.sign(order);
  const length = line.said;
  expect(length).toBeGreaterThan(500);
  const ends: string[] = [];
  for (let bytes = 0; bytes < length; bytes++) {
    if (bytes > 0 && bytes < length - 2 && !isSampled(bytes, ONE_OF)) continue;
    line.left = bytes;
    ends.push(
      await signer.sign(order).then(
        () => `signed after ${bytes} bytes`,
        (error: Error) => error.message,
      ),
    );
  }
  expect(new Set(ends), REPEAT).toEqual(
    new Set(['The signing machine went away: the same is asked again when it is back']),
  );
  line.left = Number.POSITIVE_INFINITY;
  expect(await signer.sign(order)).toEqual(first);
  expect(new Set(await journalOf(folder))).toEqual(new Set([first.txid]));
  await close();
}, 120_000);

it('gives none when its TCP connection ends at any byte of the answer but its last, and the same bytes over the next one', async () => {
  const server = await serverIn('server');
  const line = await tunnel(server.url);
  const folder = await homeOf(line.url, (await server.machines.invite()).code);
  const wallet = await walletAtHome(folder);
  const session = await Session.open(wallet, PASSPHRASE, Date.now);
  const place = await readServer(folder);
  const about = await aboutOf(wallet, 'test');
  const order = payment('LTC', ['cut']);
  const first = await session.sign(order);
  const connect = async (): Promise<void> => {
    // a server takes few greetings a minute
    stage.clock += 1_000;
    void serveServer(
      await dial(place, 'signer', about),
      { sign: async () => first } as unknown as SignerClient,
      async () => false,
    );
    await connected(server.machines);
  };
  const ends = new Set<string>();
  const cutAfter = async (bytes: number): Promise<SignedSpend | null> => {
    await connect();
    line.arm(bytes);
    const answer = await server.signer.sign(order).catch((error: Error) => {
      ends.add(error.message);
      return null;
    });
    line.arm(Number.POSITIVE_INFINITY);
    line.cut();
    await away(server.machines);
    return answer;
  };
  let bytes = 1;
  let answer = await cutAfter(bytes);
  while (answer === null) {
    bytes += 1;
    if (isSampled(bytes, ONE_OF)) answer = await cutAfter(bytes);
  }
  // back to the longest one without an answer
  let earlier = await cutAfter(bytes - 1);
  while (earlier !== null) {
    expect(earlier).toEqual(first);
    bytes -= 1;
    earlier = await cutAfter(bytes - 1);
  }
  expect(answer).toEqual(first);
  expect(ends, REPEAT).toEqual(new Set(['The signing machine went away: the same is asked again when it is back']));
  expect(bytes).toBeGreaterThan(500);
  await connect();
  expect(await server.signer.sign(order)).toEqual(first);
  await session.close();
}, 300_000);
