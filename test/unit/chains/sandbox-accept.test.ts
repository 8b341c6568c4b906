/** What a simulated BTC, LTC or BCH takes into its mempool, and the proof that the payer's transactions are real. */
import { createVirtualMachineBCH, decodeTransaction } from '@bitauth/libauth';
import { Psbt, Transaction } from 'bitcoinjs-lib';
import { verify } from 'tiny-secp256k1';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressOfKey } from '../../../daemon/chains/utxo/address.ts';
import type { UtxoChain } from '../../../daemon/chains/utxo/params.ts';
import { type Bench, type Coin, openBench, publicKeyOf, signSpend } from '../../adapters/sandbox-kit.ts';

const FINAL = 0xffffffff;

describe.each(['BTC', 'LTC', 'BCH'] as const)('the sandbox as a node of %s', (chain: UtxoChain) => {
  let bench: Bench;
  let nextIndex = 0;
  const stranger = addressOfKey(publicKeyOf(9_999), chain, 'sandbox').script;

  beforeAll(async () => {
    bench = await openBench();
  });
  afterAll(() => bench.close());

  /** A coin of ours in the mempool. */
  const receive = async (units = 100_000n): Promise<Coin> => {
    const index = nextIndex++;
    const target = addressOfKey(publicKeyOf(index), chain, 'sandbox');
    bench.book.watch(target);
    const { txid } = await bench.sandbox.pay(chain, { address: target.address, asset: chain, units });
    return { id: `${txid}:0`, units, index };
  };
  const spendOf = (coins: Coin[], units: bigint, more: { sequence?: number; lock?: number } = {}): Uint8Array =>
    signSpend(chain, { coins, outputs: [{ script: stranger, units }], ...more });
  const broadcast = (raw: Uint8Array) => bench.sandbox.broadcast(chain, raw);
  const spenderOf = (coin: Coin): string | undefined => {
    const id = bench.rows.output(chain, coin.id)?.spentBy;
    return id == null ? undefined : bench.rows.transactionById(id)?.txid;
  };

  it('makes payments that others verify', async () => {
    const coin = await receive(123_456n);
    const row = bench.rows.transaction(chain, coin.id.slice(0, 64));
    // Libauth reverses hashes in place, which in a Buffer would reach the original.
    const raw = Uint8Array.from(Buffer.from(row?.raw ?? '', 'hex'));
    const spent = bench.rows.spentBy(row?.id ?? 0)[0];
    if (!spent) throw new Error('no coin');
    expect(spent.units).toBe(124_456n);
    if (chain === 'BCH') {
      const transaction = decodeTransaction(raw);
      if (typeof transaction === 'string') throw new Error(transaction);
      const sourceOutputs = [{ lockingBytecode: Uint8Array.from(spent.script), valueSatoshis: spent.units }];
      expect(createVirtualMachineBCH().verify({ transaction, sourceOutputs })).toBe(true);
      expect(transaction.outputs[0]?.valueSatoshis).toBe(123_456n);
      return;
    }
    const parsed = Transaction.fromBuffer(raw);
    expect(parsed.getId()).toBe(coin.id.slice(0, 64));
    const psbt = Psbt.fromHex(
      new Psbt()
        .setVersion(2)
        .addInput({ hash: spent.outpoint.slice(0, 64), index: 0, sequence: 0xfffffffd })
        .addOutput({ script: addressOfKey(publicKeyOf(coin.index), chain, 'sandbox').script, value: 123_456n })
        .toHex(),
    );
    const [signature, pubkey] = parsed.ins[0]?.witness ?? [];
    if (!signature || !pubkey) throw new Error('no witness');
    psbt.updateInput(0, { witnessUtxo: { script: spent.script, value: spent.units } });
    psbt.updateInput(0, { partialSig: [{ pubkey, signature }] });
    expect(psbt.validateSignaturesOfInput(0, (key, hash, sig) => verify(hash, key, sig, true))).toBe(true);
    psbt.finalizeAllInputs();
    expect(psbt.extractTransaction(true).toHex()).toBe(parsed.toHex());
  });

  it('takes a spend of ours, and the same once more', async () => {
    const coins = [await receive(), await receive()];
    const raw = spendOf(coins, 190_000n);
    const { txid } = await broadcast(raw);
    expect(txid).toMatch(/^[0-9a-f]{64}$/);
    expect(coins.map(spenderOf)).toEqual([txid, txid]);
    expect(await broadcast(raw)).toEqual({ txid });
    await bench.sandbox.mine(chain, 1);
    expect(await broadcast(raw)).toEqual({ txid });
    expect(bench.rows.transaction(chain, txid)?.height).toBe(bench.rows.tip(chain)?.height);
  });

  it('takes outputs that are as much as the inputs', async () => {
    const coin = await receive();
    await expect(broadcast(spendOf([coin], 100_000n))).resolves.toHaveProperty('txid');
  });

  it('refuses outputs above the inputs', async () => {
    const coin = await receive();
    await expect(broadcast(spendOf([coin], 100_001n))).rejects.toMatchObject({
      code: 'broadcast.outputs_exceed_inputs',
    });
    expect(spenderOf(coin)).toBeUndefined();
  });

  it('refuses a coin that does not exist', async () => {
    const coin = await receive();
    const unknown = { ...coin, id: `${'ab'.repeat(32)}:0` };
    await expect(broadcast(spendOf([coin, unknown], 1_000n))).rejects.toMatchObject({
      code: 'broadcast.unknown_input',
    });
    await expect(broadcast(spendOf([{ ...coin, id: `${coin.id.slice(0, 65)}1` }], 1_000n))).rejects.toMatchObject({
      code: 'broadcast.unknown_input',
    });
  });

  it('refuses a signature of another key, over another amount, and one of which a bit is wrong', async () => {
    const coin = await receive();
    const refused = { code: 'broadcast.bad_signature' };
    await expect(broadcast(spendOf([{ ...coin, index: 5_000 }], 1_000n))).rejects.toMatchObject(refused);
    await expect(broadcast(spendOf([{ ...coin, units: 100_001n }], 1_000n))).rejects.toMatchObject(refused);
    // What is signed is the whole transaction: each bit of its output counts.
    const parsed = Transaction.fromBuffer(spendOf([coin], 1_000n));
    const output = parsed.outs[0];
    if (!output) throw new Error('no output');
    output.value = 1_001n;
    await expect(broadcast(parsed.toBuffer())).rejects.toMatchObject(refused);
    output.value = 1_000n;
    await expect(broadcast(parsed.toBuffer())).resolves.toHaveProperty('txid');
  });

  it('refuses proofs in another form', async () => {
    const coin = await receive();
    const refused = { code: 'broadcast.bad_signature' };
    const good = Transaction.fromBuffer(spendOf([coin], 1_000n));
    const bare = good.clone();
    bare.stripWitnesses();
    bare.setInputScript(0, new Uint8Array());
    await expect(broadcast(bare.toBuffer())).rejects.toMatchObject(refused);
    const padded = good.clone();
    padded.setInputScript(0, Uint8Array.of(0x51, ...(good.ins[0]?.script ?? [])));
    await expect(broadcast(padded.toBuffer())).rejects.toMatchObject(refused);
  });

  it('refuses what is no transaction', async () => {
    const coin = await receive();
    const raw = spendOf([coin], 1_000n);
    const malformed = { code: 'broadcast.malformed' };
    await expect(broadcast(new Uint8Array())).rejects.toMatchObject(malformed);
    await expect(broadcast(raw.subarray(0, -1))).rejects.toMatchObject(malformed);
    await expect(broadcast(Uint8Array.of(...raw, 0))).rejects.toMatchObject(malformed);
    await expect(broadcast(new Uint8Array(400_001))).rejects.toMatchObject(malformed);
    const empty = Transaction.fromBuffer(raw);
    empty.outs = [];
    await expect(broadcast(empty.toBuffer())).rejects.toMatchObject(malformed);
    const tooMuch = Transaction.fromBuffer(raw);
    tooMuch.outs = [{ script: stranger, value: 84_000_000n * 100_000_000n + 1n }];
    await expect(broadcast(tooMuch.toBuffer())).rejects.toMatchObject(malformed);
  });

  it('refuses an input that is named twice (CVE-2018-17144)', async () => {
    const coin = await receive();
    const twice = Transaction.fromBuffer(spendOf([coin], 150_000n));
    twice.ins.push({ ...(twice.ins[0] as Transaction['ins'][number]) });
    await expect(broadcast(twice.toBuffer())).rejects.toMatchObject({ code: 'broadcast.malformed' });
  });

  it('refuses a lock time ahead, and takes one that has passed', async () => {
    const coin = await receive();
    const height = bench.rows.tip(chain)?.height ?? 0;
    await expect(broadcast(spendOf([coin], 1_000n, { lock: height + 1 }))).rejects.toMatchObject({
      code: 'broadcast.not_final',
    });
    await expect(broadcast(spendOf([coin], 1_000n, { lock: 1_700_000_000 }))).rejects.toMatchObject({
      code: 'broadcast.not_final',
    });
    await expect(broadcast(spendOf([coin], 1_000n, { lock: height }))).resolves.toHaveProperty('txid');
  });

  it('replaces what allows it for a higher fee, with its descendants, and nothing else', async () => {
    const conflict = { code: 'broadcast.conflict' };
    const coin = await receive();
    const own = addressOfKey(publicKeyOf(7_000), chain, 'sandbox').script;
    const first = signSpend(chain, { coins: [coin], outputs: [{ script: own, units: 90_000n }] });
    const { txid } = await broadcast(first);
    const childOf = { id: `${txid}:0`, units: 90_000n, index: 7_000 };
    const child = await broadcast(spendOf([childOf], 85_000n));
    // It would pay for itself, but not for the child.
    await expect(broadcast(spendOf([coin], 85_000n))).rejects.toMatchObject(conflict);
    await expect(broadcast(spendOf([coin, childOf], 10_000n))).rejects.toMatchObject(conflict);
    if (chain === 'BCH') {
      await expect(broadcast(spendOf([coin], 10_000n))).rejects.toMatchObject(conflict);
      expect(spenderOf(coin)).toBe(txid);
      return;
    }
    const replacement = await broadcast(spendOf([coin], 84_999n));
    expect(spenderOf(coin)).toBe(replacement.txid);
    expect(bench.rows.transaction(chain, txid)).toBeUndefined();
    expect(bench.rows.transaction(chain, child.txid)).toBeUndefined();
    expect(bench.rows.output(chain, childOf.id)).toBeUndefined();

    const final = await receive();
    await broadcast(spendOf([final], 90_000n, { sequence: FINAL }));
    await expect(broadcast(spendOf([final], 10_000n))).rejects.toMatchObject(conflict);
  });

  it('refuses to spend again what a block spent', async () => {
    const coin = await receive();
    const { txid } = await broadcast(spendOf([coin], 90_000n));
    await bench.sandbox.mine(chain, 1);
    await expect(broadcast(spendOf([coin], 10_000n))).rejects.toMatchObject({ code: 'broadcast.conflict' });
    expect(spenderOf(coin)).toBe(txid);
  });

  it('takes with a double-spent payment what was made of it', async () => {
    const coin = await receive();
    const { txid } = await broadcast(spendOf([coin], 90_000n));
    const replacement = await bench.sandbox.doubleSpend(chain, coin.id.slice(0, 64));
    expect(bench.rows.transaction(chain, txid)).toBeUndefined();
    expect(bench.rows.transaction(chain, coin.id.slice(0, 64))).toBeUndefined();
    expect(bench.rows.transaction(chain, replacement.txid)?.height).toBeNull();
    await expect(broadcast(spendOf([coin], 90_000n))).rejects.toMatchObject({ code: 'broadcast.unknown_input' });
  });

  it('cannot double-spend what is not the payer’s', async () => {
    const coin = await receive();
    const { txid } = await broadcast(spendOf([coin], 90_000n));
    await expect(bench.sandbox.doubleSpend(chain, txid)).rejects.toMatchObject({
      code: 'sandbox.not_the_payers',
      field: 'tx_id',
    });
  });

  it('takes nothing while its source is down', async () => {
    const coin = await receive();
    await bench.sandbox.outage(chain, true);
    await expect(broadcast(spendOf([coin], 90_000n))).rejects.toMatchObject({ name: 'Unavailable' });
    await bench.sandbox.outage(chain, false);
    await expect(broadcast(spendOf([coin], 90_000n))).resolves.toHaveProperty('txid');
  });
});
