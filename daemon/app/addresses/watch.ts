/** The lookups of chain adapters: what is ours, and what to watch. All use an index and return bounded pages. */
import type { ListedScript, OpenNonce, ScriptList, StoredCoin } from '../../chains/adapter.ts';
import type { AddressFunds } from '../../chains/spending.ts';
import { type Branch, type ChainKey, chainOf, isWatchOnly } from '../../domain/chain.ts';
import { present } from '../../domain/errors.ts';
import { evmScript, kinOf } from '../../domain/evm.ts';
import type { Coin, DecodedOutput } from '../../domain/spend.ts';
import { nonceOf } from '../../domain/spend.ts';
import { addressBalance, addressesHolding } from '../../store/queries/address-balances.ts';
import { accountById, accountsOfChain } from '../../store/queries/businesses.ts';
import {
  anyCreditOfTarget,
  type CreditRow,
  creditByOutpoint,
  creditsInBlock,
  creditsOfTarget,
  creditsOfTransactionAfter,
  creditsSpentInBlock,
  creditsSpentUnconfirmed,
  type TargetRow,
  targetById,
  targetIdByScript,
  unconfirmedCredits,
} from '../../store/queries/credits.ts';
import { debitsOfTarget } from '../../store/queries/debits.ts';
import { chainState } from '../../store/queries/effects.ts';
import { coinOfKeyImage, unsearched } from '../../store/queries/key-images.ts';
import { payingTx } from '../../store/queries/paying.ts';
import { usedKey } from '../../store/queries/used-keys.ts';
import {
  fundedAddresses,
  scriptsAbove,
  scriptsGivenNext,
  scriptsOfFormerTargets,
  scriptsOfOpenPayments,
  scriptsOfPendingSpends,
  scriptsOfTanks,
  scriptsOfUnsettledCredits,
  scriptsUsedLately,
} from '../../store/queries/watch.ts';
import type { CoinRow } from '../../store/queries/withdrawals.ts';
import { keysOf, openSpends, versionsOf } from '../../store/queries/withdrawals.ts';
import type { Reader, Store } from '../../store/store.ts';

const PAGE = 500;
/** Addresses of one kind that follow each other. A second operator of an account chain is asked about a hundred in all. */
const TURN = 20;
/** Credits of one block whose scripts are listed. */
const IN_BLOCK_MAX = 100_000;
/** Wrong statements about one payment. */
const NUMBERED_MAX = 10_000;
/** Addresses of each account that are watched before they are given out. */
const GIVEN_NEXT = 50;
/** Given out recently, and watched after their payment is closed: late money usually comes soon. */
const USED_LATELY = 500;
/** Addresses of a watch-only account of an account chain that are looked at after each block: a request or two. The others take turns. */
const HELD_OUTSIDE_MAX = 500;
/** Of an account whose keys are here: another machine with the same words pays from these first. */
const HELD_MAX = 100;
/** Addresses that get gas, which are looked at after each block. */
const FUNDED_MAX = 500;

/** Our address that an output pays, or undefined. */
export function ownTarget(reader: Reader, chain_key: string, { script }: Pick<DecodedOutput, 'script'>) {
  const id = reader.get(targetIdByScript, { script, chain_key })?.id;
  return id === undefined ? undefined : reader.get(targetById, { id });
}

export type OwnAddressRow = Pick<TargetRow, 'id' | 'address' | 'script' | 'branch' | 'idx'>;

export function ownAddressOf({ address, script, branch, idx }: OwnAddressRow): Omit<AddressFunds, 'units'> {
  return { address, script, branch: branch as Branch, index: idx };
}

/** A coin for planning; its depth counts from the height of the tip. */
export function coinFrom(row: CoinRow, tip: number): Coin {
  return {
    outpoint: row.outpoint,
    units: row.units,
    script: row.script,
    branch: row.branch as Branch,
    index: row.idx,
    confirmations: row.block_height === null ? 0 : Math.max(0, tip - row.block_height + 1),
  };
}

export function watchList(store: Store, chain_key: ChainKey): ScriptList {
  const accounts = () => store.all(accountsOfChain, { chain_key });
  return {
    targetIdOf: (script) => store.get(targetIdByScript, { script, chain_key })?.id,
    accountOf: (id) => store.get(targetById, { id })?.account_id,
    isOurCoin: (outpoint) => store.get(creditByOutpoint, { outpoint, chain_key }) !== undefined,
    // The next address of a pool is another one after every payment that was requested, and after every derivation
    // there may be one where there was none.
    stamp: () =>
      accounts()
        .map(({ id }) => store.get(scriptsGivenNext, { account_id: id, limit: 1 })?.id ?? '')
        .join(),
    active: () => activeScripts(store, chain_key, accounts()),
    page: (after, limit) => store.all(scriptsAbove, { chain_key, after, limit }),
    inBlock(hash) {
      const rows = [
        ...store.all(creditsInBlock, { block_hash: hash, after: 0, limit: IN_BLOCK_MAX }),
        ...store.all(creditsSpentInBlock, { spent_block_hash: hash, after: 0, limit: IN_BLOCK_MAX }),
      ].filter((row) => row.chain_key === chain_key);
      return [...new Set(rows.map((row) => row.target_id))].flatMap((id) => store.get(targetById, { id }) ?? []);
    },
    ahead: () => store.get(chainState, { chain_key })?.ahead ?? [],
    hadMoney: (target_id) => store.get(anyCreditOfTarget, { target_id }) !== undefined,
    coinsOf: (target_id) => store.all(creditsOfTarget, { target_id }).filter(isThere).map(coinOf),
    coin(outpoint) {
      const row = store.get(creditByOutpoint, { outpoint, chain_key });
      return row && isThere(row) ? coinOf(row) : undefined;
    },
    isPartial: (txid) => store.get(payingTx, { txid, chain_key })?.unread === true,
    underId(id) {
      const own = store.get(creditByOutpoint, { outpoint: id, chain_key });
      const numbered = { after: `${id}:`, to: `${id};`, chain_key, limit: NUMBERED_MAX };
      return [...(own ? [own] : []), ...store.all(creditsOfTransactionAfter, numbered)].map(
        ({ outpoint: id, target_id: targetId, asset, units, claim, block_height: height, block_hash: hash }) => ({
          id,
          targetId,
          amount: { asset, units },
          moved: claim === 'moved',
          block: height === null || hash === null ? null : { height, hash },
        }),
      );
    },
    pending: () => pendingCoins(store, chain_key),
    unitsAt: (target_id, asset) => store.get(addressBalance, { target_id, asset })?.units ?? 0n,
    debitsAt: (target_id, asset) =>
      store.all(debitsOfTarget, { target_id, asset }).map(({ ref: id, units, block_height, block_hash }) => ({
        id,
        units,
        block: { height: block_height ?? 0, hash: block_hash ?? '' },
      })),
    openNonces: () => openNonces(store, chain_key),
    isOutside: (id) => isOutside(store, store.get(targetById, { id })?.account_id),
    holders: (asset) =>
      accounts().flatMap(({ id: account_id }) => {
        const isElsewhere = isOutside(store, account_id);
        const limit = isElsewhere ? HELD_OUTSIDE_MAX : HELD_MAX;
        const rows = store.all(addressesHolding, { account_id, asset, limit });
        return rows.map(({ id, script }) => ({ id, script, isOutside: isElsewhere }));
      }),
    coinOfKeyImage: (key_image) => store.get(coinOfKeyImage, { key_image, chain_key })?.outpoint,
    unsearched() {
      const { from_height: from = null, newest = null } = store.get(unsearched, { chain_key }) ?? {};
      return from === null || newest === null ? null : { from, newest };
    },
  };
}

/** Whether another wallet has the keys of an account. */
function isOutside(reader: Reader, id: number | undefined): boolean {
  const account = id === undefined ? undefined : reader.get(accountById, { id });
  return account !== undefined && isWatchOnly(account.key);
}

function* pendingCoins(store: Store, chain_key: ChainKey): Generator<StoredCoin[]> {
  for (const statement of [unconfirmedCredits, creditsSpentUnconfirmed]) {
    for (let after = 0; ; ) {
      const page = store.all(statement, { chain_key, after, limit: PAGE });
      yield page.filter(isThere).map(coinOf);
      const last = page.at(-1);
      if (page.length < PAGE || !last) break;
      after = last.id;
    }
  }
}

/** The nonces that open payments have reserved, each once, with all signed transactions that use it. */
function openNonces(reader: Reader, chain_key: ChainKey): OpenNonce[] {
  const open = new Map<string, OpenNonce>();
  for (const { id } of reader.all(openSpends, { chain_key })) {
    for (const { id: version_id, txid } of reader.all(versionsOf, { spend_id: id })) {
      for (const { conflict_key: key } of reader.all(keysOf, { version_id })) {
        const place = nonceOf(key);
        const target = place && ownTarget(reader, chain_key, { script: evmScript(place.address) });
        if (!target) continue;
        const usedIn = reader.get(usedKey, { conflict_key: key, chain_key })?.block_hash ?? null;
        const known = open.get(key) ?? { target, key, nonce: place.nonce, txids: [], usedIn };
        if (txid !== null) known.txids.push(txid);
        open.set(key, known);
      }
    }
  }
  return [...open.values()];
}

/** A credit that is gone keeps its row, but a source must not see it. */
const isThere = (row: CreditRow): boolean => !row.gone;

export const coinOf = (row: CreditRow): StoredCoin => ({
  targetId: row.target_id,
  outpoint: row.outpoint,
  txid: row.txid,
  asset: row.asset,
  units: row.units,
  blockHeight: row.block_height,
  blockHash: row.block_hash,
  locked: row.locked,
  spentTxid: row.spent_txid,
  spentBlockHeight: row.spent_block_height,
  spentBlockHash: row.spent_block_hash,
});

function fundedScripts(store: Store, chain_key: ChainKey): ListedScript[] {
  return store.all(fundedAddresses, { chain_key, limit: FUNDED_MAX }).flatMap(({ subject }) => {
    const script = evmScript(present(subject, 'address of a funding'));
    const id = store.get(targetIdByScript, { script, chain_key })?.id;
    return id === undefined ? [] : [{ id, script }];
  });
}

/**
 * The most urgent first, because a source may not be able to watch all. Those of a kind take turns with the others: anybody can make any
 * number of deposits that wait for their confirmations.
 */
function* activeScripts(
  store: Store,
  chain_key: ChainKey,
  accounts: readonly { id: number }[],
): Generator<ListedScript[]> {
  const given = () => accounts.map(({ id }) => store.all(scriptsGivenNext, { account_id: id, limit: GIVEN_NEXT }));
  const isOfAccounts = kinOf(chainOf(chain_key)) !== null;
  if (isOfAccounts) {
    // its operator waits for the gas, whatever number of payments is open
    for (const { id } of accounts) yield store.all(scriptsOfTanks, { account_id: id });
    // only its balance shows that the gas is there, and only in its first blocks by which transaction
    yield fundedScripts(store, chain_key);
  } else {
    // a server that watches them tells of the payment; what is asked at each block need not know them before
    yield* given();
  }
  const byId = [scriptsOfUnsettledCredits, scriptsOfPendingSpends, scriptsOfFormerTargets].map((statement) =>
    rowsOf((last: { cursor: number } | undefined) =>
      store.all(statement, { chain_key, id: last?.cursor ?? 0, limit: PAGE }),
    ),
  );
  const byDeadline = rowsOf((last: { check_at: number | null; invoice_id: number } | undefined) =>
    store.all(scriptsOfOpenPayments, {
      chain_key,
      check_at: last?.check_at ?? 0,
      invoice_id: last?.invoice_id ?? 0,
      limit: PAGE,
    }),
  );
  yield* byTurns([byDeadline, ...byId]);
  if (isOfAccounts) yield* given();
  yield store.all(scriptsUsedLately, { chain_key, limit: USED_LATELY });
}

/** All rows of a list, a page at a time. `after`: the page after a row; after none: the first. */
function* rowsOf<R>(after: (last: R | undefined) => readonly R[]): Generator<R> {
  for (let page = after(undefined); ; page = after(page.at(-1))) {
    yield* page;
    if (page.length < PAGE) return;
  }
}

function* byTurns(kinds: readonly Iterator<ListedScript>[]): Generator<ListedScript[]> {
  for (let open = kinds; open.length > 0; ) {
    const turn: ListedScript[] = [];
    open = open.filter((kind) => take(kind, turn));
    yield turn;
  }
}

/** Takes some scripts of a kind; false: there are no more. */
function take(kind: Iterator<ListedScript>, to: ListedScript[]): boolean {
  for (let taken = 0; taken < TURN; taken++) {
    const { value, done } = kind.next();
    if (done) return false;
    to.push(value);
  }
  return true;
}
