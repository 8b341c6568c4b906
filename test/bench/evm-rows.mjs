/** The rows of Ethereum's family in the tables of `run.mjs`, from what `evm.ts` measured. */

const BLOCK_MS_MORE_MAX = 300;

/** What was aimed at. */
export function evmAims({
  transferToApiWithHints,
  blockWith10,
  blockWith10000,
  dayEthWith10000,
  dayBscWith10000,
  catchUp,
  flood,
  sweeping,
  sweepingStandard,
}) {
  const turns = [blockWith10, blockWith10000, catchUp, flood].map((one) => one?.longestTurnMs);
  const more = 'ethereum: for tokens, a block with 10,000 open addresses ÷ one with 10';
  return [
    ['ethereum: mined transfer to API with hints, p50, ms', transferToApiWithHints?.medianMs, '≤', BLOCK_MS_MORE_MAX],
    [`${more}, calls`, blockWith10000?.callsForTokens / blockWith10?.callsForTokens, '≤', 1.01],
    [`${more}, bytes`, blockWith10000?.bytesForTokens / blockWith10?.bytesForTokens, '≤', 1.01],
    [
      'ethereum: calls a block at its pace, polls and a second operator included, 10,000 addresses',
      dayEthWith10000?.callsEach,
      '≤',
      6,
    ],
    ['BNB Smart Chain: the same', dayBscWith10000?.callsEach, '≤', 6],
    ['ethereum: catching up 10,000 blocks, s', catchUp?.ms / 1_000, '≤', 60],
    ['ethereum: longest turn of the event loop, CPU ms', Math.max(...turns), '≤', 50],
    ['ethereum: gas for each swept address, a token as the standard has it', sweepingStandard?.gasEach, '≤', 50_500],
    // the funding's 21,000, less 4,800 that the chain gives back for an address that is emptied (EIP-3529)
    ['ethereum: the same beyond the plain transfer, a token like USDT', beyondPlain(sweeping), '≤', 16_300],
  ];
}

const beyondPlain = (sweeping) => sweeping?.gasEach - sweeping?.plainTransferGas;

/** Everything else that was measured. */
export function evmLines({
  transferToApi,
  transferToApiWithHints,
  blockWith10,
  blockWith10000,
  dayEthWith10,
  dayEthWith10000,
  dayBscWith10,
  dayBscWith10000,
  catchUp,
  flood,
  sweeping,
  sweepingStandard,
  load,
}) {
  return [
    ['ethereum: mined transfer to API, p50', transferToApi.medianMs, 'ms'],
    ['ethereum: the same with hints over a WebSocket', transferToApiWithHints.medianMs, 'ms'],
    ...blockLines('10', blockWith10),
    ...blockLines('10,000', blockWith10000),
    ['ethereum: with 10 open addresses, 12 s a block', dayEthWith10.callsADay, 'calls a day'],
    ['ethereum: with 10,000 open addresses, 12 s a block', dayEthWith10000.callsADay, 'calls a day'],
    ['BNB Smart Chain: with 10 open addresses, 0.75 s a block', dayBscWith10.callsADay, 'calls a day'],
    ['BNB Smart Chain: with 10,000 open addresses, 0.75 s a block', dayBscWith10000.callsADay, 'calls a day'],
    [`ethereum: catching up ${catchUp.blocks.toLocaleString('en-US')} blocks`, catchUp.ms / 1_000, 's'],
    ['ethereum: longest turn meanwhile, CPU', catchUp.longestTurnMs, 'ms'],
    [`ethereum: ${flood.transfers.toLocaleString('en-US')} transfers to one address`, flood.ms / 1_000, 's'],
    ['ethereum: longest turn meanwhile, CPU', flood.longestTurnMs, 'ms'],
    ...gasLines('a token like USDT', sweeping),
    ...gasLines('a token as the standard has it', sweepingStandard),
    ['ethereum: load of the machine at the end', load, 'processes'],
  ];
}

const blockLines = (addresses, { requests, bytes, callsForTokens, bytesForTokens, longestTurnMs }) => [
  [`ethereum: a block with ${addresses} open addresses`, requests, 'requests'],
  [`ethereum: a block with ${addresses} open addresses`, bytes / 1_000, 'kB'],
  [`ethereum: a block with ${addresses} open addresses, for tokens`, callsForTokens, 'calls'],
  [`ethereum: a block with ${addresses} open addresses, for tokens`, bytesForTokens / 1_000, 'kB'],
  [`ethereum: a block with ${addresses} open addresses, longest turn, CPU`, longestTurnMs, 'ms'],
];

const gasLines = (token, { gasEach, plainTransferGas, leftGas }) => [
  [`ethereum: gas for each swept address, funding included, ${token}`, gasEach, 'gas'],
  [`ethereum: gas of a plain transfer of ${token}`, plainTransferGas, 'gas'],
  [`ethereum: coin left at a swept address, ${token}`, leftGas, 'gas'],
];
