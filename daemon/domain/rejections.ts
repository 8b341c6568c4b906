/** Every rejection by its code, and how each door answers it. */

/** `subject.reason`. Programs tell rejections apart by it: a code never changes its meaning. */
export type RejectCode =
  | 'data_dir'
  | 'params'
  | 'seal'
  | 'validation'
  | `account.${'checksum' | 'depth' | 'in_use' | 'integrated' | 'key' | 'network' | 'private' | 'script' | 'subaddress' | 'view_key' | 'watch_only'}`
  | `address_book.${'address' | 'chain' | 'known' | 'label' | 'not_found' | 'too_many'}`
  | `backup.${'damaged' | 'exists' | 'folder' | 'format' | 'missing' | 'no_wallet' | 'pass' | 'unmounted' | 'unsound' | 'upload' | 'words'}`
  | `body.${'encoding' | 'json' | 'object'}`
  | `brand.${'accent' | 'contact' | 'currency' | 'favourites' | 'logo' | 'name'}`
  | `broadcast.${'bad_signature' | 'conflict' | 'disputed' | 'malformed' | 'not_final' | 'outputs_exceed_inputs' | 'refused' | 'unknown_input'}`
  | `bump.${'confirmed' | 'locked' | 'not_found' | 'under_way' | 'unsupported'}`
  | `business.${'account' | 'accounts' | 'ambiguous' | 'asset' | 'birthday' | 'name' | 'not_found' | 'restore_height' | 'time_zone' | 'too_many'}`
  | 'chain.pruned'
  | `client.${'host' | 'not_found' | 'origin' | 'too_many'}`
  | `closing.${'mail_off' | 'mail_waits' | 'not_found' | 'number'}`
  | 'config.rpc'
  | 'console.listen'
  | 'delivery.not_found'
  | `endpoint.${'not_found' | 'quarantine' | 'too_many' | 'url'}`
  | `forward.${'amount' | 'destination' | 'fee' | 'grant' | 'not_found' | 'schedule'}`
  | `idempotency.${'conflict' | 'key'}`
  | `inbox.${'asset' | 'decided' | 'gone' | 'locked' | 'no_invoice' | 'not_found' | 'spent'}`
  | `item.${'not_found' | 'price' | 'too_many'}`
  | `invoice.${'not_found' | 'not_unpaid' | 'paid' | 'pending'}`
  | `key_images.${'account' | 'damaged' | 'format' | 'none' | 'other'}`
  | `key.${'network' | 'not_found' | 'too_many'}`
  | 'ledger.chain'
  | `link.${'ended' | 'field' | 'least' | 'not_found' | 'order' | 'slug' | 'sold_out' | 'too_many' | 'too_much'}`
  | `mnemonic.${'checksum' | 'length' | 'word'}`
  | 'operator.listen'
  | `payment.${'crypto_missing' | 'fixed' | 'requested' | 'too_small'}`
  | `policy.${'grants' | 'limits' | 'rate'}`
  | 'port.taken'
  | `psbt.${'abandoned' | 'amount' | 'coin' | 'input' | 'locktime' | 'malformed' | 'none' | 'other' | 'output' | 'replaced' | 'sequence' | 'sighash' | 'signature' | 'unsigned' | 'version'}`
  | 'rates.unknown'
  | `receipt.${'email' | 'none'}`
  | `refund.${'link_open' | 'not_paid' | 'nothing' | 'too_much' | 'too_small'}`
  | `refund_link.${'not_found' | 'over'}`
  | `restore.${'none' | 'not_empty' | 'not_ready'}`
  | `review.${'differs' | 'unexpected'}`
  | `sandbox.${'address' | 'already_mined' | 'amount' | 'asset' | 'blocks' | 'control' | 'depth' | 'full' | 'no_payment' | 'not_the_payers' | 'unknown_tx'}`
  | 'discovery.too_many'
  | `signer.${'approval' | 'code_expired' | 'code_foreign' | 'code_used' | 'code_wrong' | 'conflict' | 'differs' | 'fee' | 'foreign_address' | 'index' | 'input' | 'journal' | 'library' | 'limit' | 'locked' | 'machine' | 'not_found' | 'other_server' | 'proxy' | 'server' | 'service' | 'unsupported'}`
  | 'source.unknown'
  | `gas.${'chain' | 'grant' | 'plan' | 'tank' | 'used'}`
  | `spend.${'abandoned' | 'dust' | 'fee_too_high' | 'gas' | 'gone' | 'insufficient' | 'malformed' | 'nonce' | 'one_payment' | 'open' | 'refused' | 'reserved' | 'scattered' | 'spent' | 'too_large' | 'too_many_coins' | 'unbacked' | 'unconfirmed' | 'uncovered' | 'unknown' | 'unsettled'}`
  | `store.${'damaged' | 'disk' | 'locked' | 'newer'}`
  | `till.${'listen' | 'no_network'}`
  | 'upgrade.backup'
  | `vault.${'corrupted' | 'exists' | 'missing' | 'passphrase' | 'weak_passphrase'}`
  | 'wallet.sandbox'
  | 'webhook.not_found'
  | `withdrawal.${'address' | 'amount' | 'approval' | 'batch' | 'canceled' | 'crypto' | 'descendant' | 'fee' | 'gas' | 'insufficient' | 'minimum' | 'no_coin' | 'no_replacement' | 'not_found' | 'overtaken' | 'state' | 'too_many' | 'unconnected' | 'unsupported'}`;

/** The place of the message in an answer's body: in `message`, in `error`, in both, or under the field that is wrong. */
export type RejectForm = 'message' | 'error' | 'both' | 'errors';

type Answers = {
  /** HTTP status and body of the merchant API and the client API. */
  api: readonly [status: number, form: RejectForm];
  /** HTTP status of the merchant API's endpoints of withdrawals. */
  withdrawal: number;
  /** HTTP status of the operator API. 409: the state causes it, not the request. */
  operator: number;
  /** The answer of the payment page: the invoice as it is, the choice of coins again, or an error page of that status. */
  page: 'shows' | 'asks' | 400 | 404;
  /** The exit code of the command line: 1: refused, 2: an argument is wrong, 3: the data are another process's or a newer release's, 4: a foreign address. */
  exit: number;
};

const OTHERWISE: Answers = { api: [400, 'message'], withdrawal: 400, operator: 400, page: 400, exit: 1 };

const CONFLICT = { operator: 409 } as const;

/** How a code is answered where it is not as the others are. */
const ANSWERS: { readonly [code in RejectCode]?: Partial<Answers> } = {
  params: { exit: 2 },
  validation: { api: [422, 'errors'], page: 'asks' },
  'invoice.not_found': { api: [404, 'error'], withdrawal: 404, page: 404 },
  'invoice.paid': { api: [400, 'error'] },
  'invoice.pending': { api: [400, 'error'] },
  'invoice.not_unpaid': { api: [400, 'both'], page: 'shows', ...CONFLICT },
  'payment.requested': { api: [400, 'both'], page: 'shows' },
  'payment.fixed': { page: 'shows' },
  'payment.crypto_missing': { page: 'asks' },
  'payment.too_small': { api: [422, 'errors'], page: 'asks' },
  'link.not_found': { page: 404 },
  'refund_link.not_found': { page: 404 },
  'refund_link.over': { page: 'shows', ...CONFLICT },
  'refund.link_open': CONFLICT,
  'link.field': { exit: 2 },
  'link.sold_out': { page: 'asks', ...CONFLICT },
  'rates.unknown': { api: [404, 'error'] },
  'receipt.email': { page: 'asks' },
  'receipt.none': { page: 'shows', ...CONFLICT },
  'idempotency.conflict': { api: [409, 'message'], withdrawal: 409 },
  'sandbox.unknown_tx': { page: 'shows' },
  'sandbox.already_mined': { page: 'shows' },
  'sandbox.not_the_payers': { page: 'shows' },
  'withdrawal.not_found': { withdrawal: 404 },
  'endpoint.quarantine': CONFLICT,
  'business.account': CONFLICT,
  'business.ambiguous': CONFLICT,
  'signer.foreign_address': { exit: 4, ...CONFLICT },
  'signer.machine': CONFLICT,
  'psbt.abandoned': CONFLICT,
  'psbt.replaced': CONFLICT,
  'vault.exists': CONFLICT,
  'spend.open': CONFLICT,
  'spend.unknown': CONFLICT,
  'withdrawal.state': CONFLICT,
  'withdrawal.overtaken': CONFLICT,
  'withdrawal.descendant': CONFLICT,
  'closing.mail_off': CONFLICT,
  'closing.mail_waits': CONFLICT,
  'closing.number': CONFLICT,
  'item.price': CONFLICT,
  'inbox.decided': CONFLICT,
  'inbox.gone': CONFLICT,
  'store.locked': { exit: 3 },
  'store.newer': { exit: 3 },
};

export function answersTo(code: RejectCode): Answers {
  const operator = code.endsWith('.not_found') ? 404 : code.endsWith('.too_many') ? 409 : OTHERWISE.operator;
  return { ...OTHERWISE, operator, ...ANSWERS[code] };
}
