/**
 * Reads the amounts and the fee that a transaction took from an address of ours, and the nonce that it used, from its receipt and its
 * own bytes.
 *
 * Invariant: an amount left only if the receipt is successful. A failed transaction pays its fee and moves nothing. A token may
 * refuse by its answer alone, which no receipt has: then its event is missing, and the transaction failed as well.
 */
import type { AssetId } from '../../domain/assets.ts';
import type { BlockId, Debit, SpendSeen } from '../../domain/chain.ts';
import { nonceKey } from '../../domain/spend.ts';
import type { ListedScript, ScriptList } from '../adapter.ts';
import { checksumAddress } from './address.ts';
import type { Receipt, Sending } from './answers.ts';
import { hexOfScript } from './endpoint.ts';
import type { Token } from './params.ts';
import { isOneAccount, isTransfer, partiesOf } from './transfers.ts';

/** A transaction in a block as an endpoint has it, and an address of ours that it took something from. */
export type Outgoing = { target: ListedScript; receipt: Receipt; sending: Sending };

export type Outflow = { spends: SpendSeen[]; debits: Debit[] };

export const txidOf = (debitId: string): string => debitId.slice(0, debitId.indexOf(':'));

export const nothingSent = (): Outflow => ({ spends: [], debits: [] });

/** The transfer of a known token that a transaction asks for. */
type EventQuery = { contract: string; to: Uint8Array };

/** An event of a receipt. `place`: among its events. */
type Transferred = { place: number; token: Token; recipient: Uint8Array; units: bigint };

/** Reads transactions that left addresses of ours. */
export class OutgoingReader {
  readonly #native: AssetId;
  readonly #tokens: ReadonlyMap<string, Token>;
  readonly #list: ScriptList;

  constructor(native: AssetId, tokens: readonly Token[], list: ScriptList) {
    this.#native = native;
    this.#tokens = new Map(tokens.map((token) => [token.contract, token]));
    this.#list = list;
  }

  /** The amounts and the nonce that a transaction in a block took. `blockTime`: milliseconds since 1970. */
  taken({ target, receipt, sending }: Outgoing, blockTime: number): Outflow {
    const block: BlockId = { height: receipt.height, hash: receipt.blockHash };
    const { txid } = receipt;
    const sent = nothingSent();
    // an address can allow somebody else to move its tokens
    const isSender = sending.from === hexOfScript(target.script);
    if (isSender) {
      const outpoint = nonceKey(checksumAddress(target.script), sending.nonce);
      const failed = this.hasFailed({ target, receipt, sending });
      sent.spends.push({ outpoint, txid, block, blockTime, ...(failed && { failed }) });
    }
    const debit = (place: string, kind: Debit['kind'], asset: AssetId, units: bigint): void => {
      if (units === 0n) return;
      const amount = { asset, units };
      sent.debits.push({ id: `${txid}:${place}`, txid, targetId: target.id, kind, amount, block, blockTime });
    };
    if (isSender) debit('fee', 'fee', this.#native, receipt.fee);
    if (!receipt.succeeded) return sent;
    if (isSender && sending.to !== null) {
      debit('0', this.#kindTo(target, bytesOf(sending.to)), this.#native, sending.value);
    }
    const asked = isSender ? this.#askedOf(sending) : null;
    for (const { place, token, recipient, units } of this.#transfersFrom(target, receipt, asked)) {
      // a token may keep a part of what it was asked to transfer
      const isKept = token.contract === asked?.contract && !isSame(recipient, asked.to);
      const kind = this.#kindTo(target, recipient);
      debit(`${place + 1}`, isKept && kind === 'paid' ? 'fee' : kind, token.asset, units);
    }
    return sent;
  }

  /** Whether a transaction of the target's had no effect but its fee. */
  hasFailed({ target, receipt, sending }: Outgoing): boolean {
    const asked = this.#askedOf(sending);
    if (!receipt.succeeded || asked === null) return !receipt.succeeded;
    return !this.#transfersFrom(target, receipt, asked).some(
      ({ token, recipient, units }) => token.contract === asked.contract && isSame(recipient, asked.to) && units > 0n,
    );
  }

  /**
   * The events by which known tokens left the target. A token that was replaced passes its calls on to a new contract, as Tether's can
   * on Ethereum: then the events of that one stand for its own. It asks nobody else.
   */
  #transfersFrom({ script }: ListedScript, { logs }: Receipt, asked: EventQuery | null): Transferred[] {
    const own = logs.flatMap((log, place) => {
      if (!isTransfer(log)) return [];
      const [sender, recipient] = partiesOf(log);
      return isSame(sender, script) ? [{ place, contract: log.contract, recipient, units: BigInt(log.data) }] : [];
    });
    const successorOf = own.some(({ contract }) => contract === asked?.contract) ? undefined : asked?.contract;
    return own.flatMap(({ contract, ...one }) => {
      const token = this.#tokens.get(contract) ?? this.#tokens.get(successorOf ?? '');
      return token ? [{ ...one, token }] : [];
    });
  }

  /** The amounts at stake in a transaction of the target's: what it moves, and its fee. */
  atStake({ target, receipt, sending }: Outgoing): { targetId: number; asset: AssetId; units: bigint }[] {
    const { to, value, transfer } = sending;
    const token = to === null ? undefined : this.#tokens.get(to);
    const moved =
      token && transfer ? { asset: token.asset, units: transfer.units } : { asset: this.#native, units: value };
    return [moved, { asset: this.#native, units: receipt.fee }].map((one) => ({ targetId: target.id, ...one }));
  }

  #kindTo(target: ListedScript, recipient: Uint8Array): Debit['kind'] {
    const to = this.#list.targetIdOf(recipient);
    return to !== undefined && isOneAccount(this.#list, target.id, to) ? 'moved' : 'paid';
  }

  #askedOf({ to, transfer }: Sending): EventQuery | null {
    const isKnown = to !== null && this.#tokens.has(to);
    return isKnown && transfer && transfer.units > 0n ? { contract: to, to: transfer.to } : null;
  }
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

const bytesOf = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex.slice(2), 'hex'));
