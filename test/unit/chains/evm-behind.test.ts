/** An endpoint whose servers do not have a block at the same time, or are busy: what one of them lacks is no lie. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ScriptList } from '../../../daemon/chains/adapter.ts';
import { Endpoints } from '../../../daemon/chains/endpoints.ts';
import type { Log } from '../../../daemon/chains/evm/answers.ts';
import { EvmEndpoint } from '../../../daemon/chains/evm/endpoint.ts';
import { confirmed, type Incoming, paddedAddress, TRANSFER } from '../../../daemon/chains/evm/transfers.ts';
import { slices } from '../../../daemon/chains/slices.ts';
import { ChainAlert, Unavailable } from '../../../daemon/domain/errors.ts';
import { chainIdOf } from '../../../daemon/domain/evm.ts';
import headers from './evm-headers.json' with { type: 'json' };

type Request = { id: number; method: string };
type Answer = { result: unknown } | { error: { code: number; message: string } };

const signal = () => AbortSignal.timeout(5_000);
const TOKEN = { asset: 'USDT_ERC20' as const, decimals: 6, contract: `0x${'d'.repeat(40)}` };
const BLOCK = { height: 7, hash: `0x${'7'.repeat(64)}` };
const HEADER = Object.values(headers).at(-1);

let server: Server;
let url: string;
/** What it answers; default: null. */
let answers: Partial<Record<string, Answer>> = {};

beforeAll(async () => {
  server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const asked = JSON.parse(body) as Request | Request[];
    const reply = ({ id, method }: Request) => ({ jsonrpc: '2.0', id, ...(answers[method] ?? { result: null }) });
    response.end(JSON.stringify(Array.isArray(asked) ? asked.map(reply) : reply(asked)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

const opened = (): EvmEndpoint =>
  new EvmEndpoint({ url, label: 'a setting', network: 'regtest', chain: 'ETH', tokens: [TOKEN] });

const incoming: Incoming = {
  log: {
    contract: TOKEN.contract,
    topics: [TRANSFER, paddedAddress(`0x${'b'.repeat(40)}`), paddedAddress(`0x${'a'.repeat(40)}`)],
    data: `0x${'5'.padStart(64, '0')}`,
    txid: `0x${'e'.repeat(64)}`,
    height: BLOCK.height,
    blockHash: BLOCK.hash,
    index: 0,
  } satisfies Log,
  token: TOKEN,
  targetId: 1,
  moved: false,
};

describe('a server that does not have a block yet', () => {
  const known = { list: {} as ScriptList, headers: new Map() };
  it.each<[string, (endpoint: EvmEndpoint) => Promise<unknown>]>([
    ['its head', (endpoint) => endpoint.head(signal())],
    ['its transactions', (endpoint) => endpoint.sendings(BLOCK, signal())],
    ['its events', (endpoint) => endpoint.logsIn([BLOCK], [TOKEN.contract], TRANSFER, signal())],
    ['events at its height', (endpoint) => endpoint.logs({ from: 7, to: 7 }, [TOKEN.contract], [TRANSFER], signal())],
    ['its price of gas', (endpoint) => endpoint.gasPrice(signal())],
    ['a receipt in it', (endpoint) => confirmed(endpoint, [incoming], known, slices(), signal())],
  ])('tells nothing of %s, and is asked again soon', async (_, use) => {
    answers = {};
    const endpoint = opened();
    await expect(use(endpoint)).rejects.toBeInstanceOf(Unavailable);
    endpoint.close();
  });

  it('is no liar, whoever else there is', async () => {
    const alerts: string[] = [];
    const open = (): EvmEndpoint => Object.assign(opened(), { identify: async () => {} });
    const endpoints = new Endpoints('a setting', [url, 'http://other.example'], open, (name) => alerts.push(name));
    await expect(endpoints.first((one) => one.sendings(BLOCK, signal()), signal())).rejects.toBeInstanceOf(Unavailable);
    expect(alerts).toEqual([]);
    endpoints.close();
  });
});

it('an endpoint that cannot run a call now is not taken for one without the token', async () => {
  const call = { error: { code: -32_000, message: 'header not found' } };
  const id = `0x${chainIdOf('regtest', 'ETH').toString(16)}`;
  answers = { eth_chainId: { result: id }, eth_getBlockByNumber: { result: HEADER }, eth_call: call };
  const endpoint = opened();
  const refused = await endpoint.identify(signal()).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(Unavailable);
  expect(refused).not.toBeInstanceOf(ChainAlert);
  answers = { ...answers, eth_call: { result: '0x' } };
  await expect(endpoint.identify(signal())).rejects.toThrow(/is no token there/);
  endpoint.close();
});

it.each<[string, Answer]>([
  ['answers null', { result: null }],
  ['refuses', { error: { code: -32_601, message: 'the method does not exist' } }],
])('an endpoint that %s where it is asked for a tip has the price of gas tell it', async (_, tip) => {
  answers = {
    eth_getBlockByNumber: { result: { ...HEADER, baseFeePerGas: '0x64' } },
    eth_gasPrice: { result: '0x67' },
    eth_maxPriorityFeePerGas: tip,
  };
  expect(await opened().gasPrice(signal())).toMatchObject({ base: 100n, tip: 3n });
});
