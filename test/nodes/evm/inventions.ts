/** An endpoint that invents a transaction in a real block: its log, its receipt, and a fee of any size. */
import { TRANSFER } from '../../../daemon/chains/evm/transfers.ts';
import type { Anvil, Json } from './anvil.ts';
import type { Behaviour, Request } from './endpoint-proxy.ts';

type Fields = { [key: string]: Json };

export const INVENTED_TXID = `0x${'c5'.repeat(32)}`;
const FULL_BLOOM = `0x${'ff'.repeat(256)}`;
const STRANGER = `0x${'5e'.repeat(20)}`;

const hexOf = (units: bigint): string => `0x${units.toString(16)}`;
const padded = (address: string): string => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;

/** `fee`: wei. `units`: of the token. `from`: who sends it, in place of the address. */
type Invented = { address: string; fee: bigint; units?: bigint; txid?: string; from?: string };

/** Tokens that a stranger sends to an address in the newest block. */
export const inventedPayment = (anvil: Anvil, token: string, address: string, units: bigint): Promise<Behaviour> =>
  inventedSending(anvil, token, { address, units, fee: 1n, from: STRANGER });

/** A transfer of tokens from an address in the newest block. */
export async function inventedSending(
  anvil: Anvil,
  token: string,
  { address, fee, units = 1n, txid = INVENTED_TXID, from: sender }: Invented,
): Promise<Behaviour> {
  const [payer, payee] = sender === undefined ? [address, STRANGER] : [sender, address];
  const block = await anvil.rpc<Fields>('eth_getBlockByNumber', ['latest', false]);
  const { hash: blockHash = '', number: blockNumber = '' } = block;
  const place = { blockHash, blockNumber, transactionHash: txid, transactionIndex: '0x0' };
  const from = payer.toLowerCase();
  const log: Fields = {
    ...place,
    address: token,
    logIndex: '0x0',
    removed: false,
    topics: [TRANSFER, padded(payer), padded(payee)],
    data: `0x${units.toString(16).padStart(64, '0')}`,
  };
  const receipt: Fields = {
    ...place,
    from,
    to: token,
    status: '0x1',
    type: '0x2',
    contractAddress: null,
    cumulativeGasUsed: '0x1',
    gasUsed: '0x1',
    effectiveGasPrice: hexOf(fee),
    logs: [log],
    logsBloom: FULL_BLOOM,
  };
  const sending: Fields = { hash: txid, from, to: token, nonce: '0x0', value: '0x0', input: '0x', ...place };
  return {
    instead({ method, params }) {
      if (params[0] !== txid) return undefined;
      if (method === 'eth_getTransactionReceipt') return { result: receipt };
      return method === 'eth_getTransactionByHash' ? { result: sending } : undefined;
    },
    changed({ method, params }: Request, result: Json): Json {
      const filter = params[0] as Fields;
      if (method === 'eth_getLogs' && filter.address !== undefined) {
        const isThere = filter.blockHash === blockHash || Number(filter.toBlock) >= Number(blockNumber);
        return isThere ? [...(result as Json[]), log] : result;
      }
      if (method !== 'eth_getBlockByNumber' || result === null) return result;
      return { ...(result as Fields), logsBloom: FULL_BLOOM };
    },
  };
}
