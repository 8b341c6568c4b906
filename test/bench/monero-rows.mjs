/** The rows of Monero in the tables of `run.mjs`, from what `monero.mjs` and `monero-restore.mjs` measured; empty where monerod is missing. */

/** What was aimed at. */
export function moneroAims({ blocks, payments, requests, withdrawals, memoryAfter }) {
  return [
    ['monero: from the pool to the API, s', payments?.median / 1_000, '≤', 3],
    ['monero: a block with 10,000 subaddresses ÷ one with 100', blocks?.many / blocks?.few, '≤', 1.2],
    ['monero: longest turn of the main thread, CPU ms', blocks?.longestTurnMs, '<', 20],
    ['monero: create_address ÷ payment request, time', requests?.theirs.ms / requests?.ours.ms, '≥', 10],
    ['monero: from approval to broadcast, s', withdrawals?.longest / 1_000, '≤', 10],
    ['monero: memory after withdrawals, with the signer, MB', memoryAfter?.all, '<', 350],
  ];
}

/** Everything else that was measured. */
export function moneroLines({ blocks, payments, requests, withdrawals, memory }) {
  const each = (ms) => ms / requests?.requests;
  return [
    ['monero: from the pool to the API, longest', payments?.longest, 'ms'],
    ['monero: a block with 100 subaddresses', blocks?.few, 'ms'],
    ['monero: a block with 10,000 subaddresses', blocks?.many, 'ms'],
    ['monero: a pool of 100 outputs of ours', blocks?.fullPoolMs, 'ms'],
    ['monero: a block of 100 outputs of ours', blocks?.fullBlockMs, 'ms'],
    ['monero: a payment request', each(requests?.ours.ms), 'ms'],
    ['monero: a payment request, CPU', each(requests?.ours.cpuMs), 'ms'],
    ['monero: create_address of monero-wallet-rpc (yardstick)', each(requests?.theirs.ms), 'ms'],
    ['monero: create_address of monero-wallet-rpc (yardstick), CPU', each(requests?.theirs.cpuMs), 'ms'],
    ['monero: from approval to broadcast, the first', withdrawals?.first, 'ms'],
    ['monero: from approval to broadcast, median', withdrawals?.median, 'ms'],
    ['monero: from approval to broadcast, CPU', withdrawals?.cpuMs, 'ms'],
    ['monero: memory of the daemon before it pays out', memory?.daemon, 'MB'],
  ];
}

const KINDS = [
  ['empty', 'near-empty blocks'],
  ['full', 'full blocks'],
  ['far', 'near-empty blocks over 40 ms'],
  ['farther', 'near-empty blocks over 100 ms'],
];

/** Reading blocks, beside monero-wallet-rpc. */
export function restoreAims(restored) {
  return [
    ...KINDS.map(([kind, what]) => [
      `monero: ${what} ÷ monero-wallet-rpc, speed`,
      restored[kind]?.ours / restored[kind]?.theirs,
      '≥',
      1,
    ]),
    ['monero: longest turn while restoring, CPU ms', restored.empty?.longestTurnMs, '<', 20],
  ];
}

export function restoreLines(restored) {
  const lines = KINDS.flatMap(([kind, what]) => [
    [`monero: ${what}`, restored[kind]?.ours, 'blocks/s'],
    [`monero: ${what}, monero-wallet-rpc (yardstick)`, restored[kind]?.theirs, 'blocks/s'],
    [`monero: ${what}, CPU of a block`, restored[kind]?.cpu.ours, 'ms'],
    [`monero: ${what}, CPU of a block, monero-wallet-rpc (yardstick)`, restored[kind]?.cpu.theirs, 'ms'],
  ]);
  return [...lines, ['monero: searching blocks for spends', restored.search?.each, 'blocks/s']];
}
