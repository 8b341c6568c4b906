/**
 * Whether an endpoint of another operator has the same payments: in the same block, to the same address, and of the same
 * amount. A transaction of that id alone proves nothing, because the endpoint that reported it may have changed its amount.
 */
import type { BlockId, Credit } from '../../domain/chain.ts';
import type { ScriptList } from '../adapter.ts';
import { idOf } from '../checkpoint.ts';
import type { Header, Receipt } from './answers.ts';
import { type EvmEndpoint, hexOfScript } from './endpoint.ts';
import type { Token } from './params.ts';
import { amountIn } from './transfers.ts';

type Payment = { credit: Credit; block: BlockId; address: string };

export class Agreed {
  readonly #list: ScriptList;
  readonly #contracts: ReadonlyMap<string, string>;

  constructor(tokens: readonly Token[], list: ScriptList) {
    this.#list = list;
    this.#contracts = new Map(tokens.map(({ asset, contract }) => [asset, contract]));
  }

  /** For each credit whether the endpoint has it. One transaction may have thousands, so each is asked for once. */
  async areThere(endpoint: EvmEndpoint, credits: readonly Credit[], signal: AbortSignal): Promise<boolean[]> {
    const payments = credits.map((credit) => this.#paymentOf(credit));
    const heights = [...new Set(payments.flatMap((one) => one?.block.height ?? []))];
    const headers = new Map<number, Header | null>();
    for (const [i, header] of (await endpoint.headers(heights, signal)).entries())
      headers.set(heights[i] ?? -1, header);
    const isOnChain = ({ block }: Payment): boolean => headers.get(block.height)?.hash === block.hash;
    const sent = payments.filter((one) => one !== null).filter((one) => isOnChain(one) && !isInside(one));
    const txids = [...new Set(sent.map(({ credit }) => credit.txid))];
    const receipts = new Map<string, Receipt | null>();
    for (const [i, receipt] of (await endpoint.receipts(txids, signal)).entries())
      receipts.set(txids[i] ?? '', receipt);
    const found: boolean[] = [];
    for (const payment of payments) {
      const header = payment && isOnChain(payment) ? headers.get(payment.block.height) : null;
      if (!payment || !header) found.push(false);
      else if (isInside(payment)) found.push(await isPaidInside(endpoint, payment, header, signal));
      else found.push(await this.#isPaid(endpoint, payment, receipts.get(payment.credit.txid) ?? null, signal));
    }
    return found;
  }

  #paymentOf(credit: Credit): Payment | null {
    const [target] = this.#list.page(credit.targetId - 1, 1);
    if (!credit.block || target?.id !== credit.targetId) return null;
    return { credit, block: credit.block, address: hexOfScript(target.script) };
  }

  async #isPaid(
    endpoint: EvmEndpoint,
    { credit: { id, txid, amount }, block, address }: Payment,
    receipt: Receipt | null,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (!receipt?.succeeded || receipt.blockHash !== block.hash) return false;
    const place = Number(id.slice(id.indexOf(':') + 1));
    if (place === 0) {
      const sending = await endpoint.sending(txid, signal);
      return sending?.to === address && sending.value === amount.units;
    }
    const log = receipt.logs[place - 1];
    const moved = log && log.contract === this.#contracts.get(amount.asset) ? amountIn(log) : null;
    return moved?.recipient === address && moved.units === amount.units;
  }
}

/** Whether a contract sent it from inside: then it has no transaction of its own, and its block's id stands for one. */
const isInside = ({ credit, block }: Payment): boolean => credit.txid === block.hash;

/** Whether the balance rose in a block by the amount, beside the transactions from and to the address. */
async function isPaidInside(
  endpoint: EvmEndpoint,
  { credit, block, address }: Payment,
  header: Header,
  signal: AbortSignal,
): Promise<boolean> {
  const parent = { height: header.height - 1, hash: header.parent };
  const [before] = await endpoint.balances([address], parent, signal);
  const [after] = await endpoint.balances([address], idOf(header), signal);
  if (before === null || before === undefined || after === null || after === undefined) return false;
  let rise = after - before;
  const own = (await endpoint.sendings(block, signal)).filter(({ from, to }) => from === address || to === address);
  const receipts = await endpoint.receipts(
    own.map(({ txid }) => txid),
    signal,
  );
  for (const [i, { from, to, value }] of own.entries()) {
    const receipt = receipts[i];
    if (!receipt) return false;
    const moved = receipt.succeeded ? value : 0n;
    if (to === address) rise -= moved;
    if (from === address) rise += moved + receipt.fee;
  }
  return rise >= credit.amount.units;
}
