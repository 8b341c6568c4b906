/** Each process and thread, and the source that it starts with, without extension, below `daemon/`. The build makes one file of each. */
export const ENTRIES = {
  cli: 'cli',
  signer: 'wallet/signer/process',
  'passphrase-helper': 'wallet/signer/helper',
  'address-thread': 'chains/derive-thread',
  'backup-thread': 'workers/backup-thread',
  'block-thread': 'chains/xmr/read-thread',
  'checkpoint-thread': 'store/checkpoint-thread',
  'drill-process': 'app/backup/drill-process',
} as const;

/** Libraries with compiled parts, which they look for beside themselves: no bundle holds them. */
export const COMPILED = ['better-sqlite3', '@napi-rs/keyring', 'tiny-secp256k1', 'monero-ts'];
