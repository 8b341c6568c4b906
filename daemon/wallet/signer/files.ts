/** The names of the files in the wallet's folder, in a module without dependencies. A backup includes all of them. */
export const VAULT_FILE = 'wallet.json';
export const JOURNAL_FILE = 'signer-journal.jsonl';
/** The maximum size of the journal: a full one accepts no more signatures, and a backup accepts this size. */
export const JOURNAL_BYTES_MAX = 512 * 1_048_576;
/** A full journal takes two to three times its size in the memory of the signer, which could not open the wallet otherwise. */
export const SIGNER_HEAP_MB_MAX = 2_048;
/**
 * How much of the journal, and how much a day, signatures fill that need no new approval of the operator: under grants, or of another version.
 * A day has room for some 30,000 lines. Else somebody who had the service for an hour could leave a wallet that signs nothing any more.
 */
export const UNASKED_BYTES_MAX = (JOURNAL_BYTES_MAX / 4) * 3;
export const UNASKED_DAY_BYTES_MAX = JOURNAL_BYTES_MAX / 32;
export const HEAD_FILE = 'signer-journal.head';
/** Beside a new wallet until the operator has proved to have its words. */
export const UNPROVED_FILE = 'words-unproved';
export const ATTEMPTS_FILE = 'signer-attempts.json';
/** Names the process that writes to the folder. No copy and no backup of the folder is to have it. */
export const HOLDER_FILE = 'signer.lock';
/** Wrong passphrases over the socket of the operator. The daemon's do not make the operator wait. */
export const OPERATOR_ATTEMPTS_FILE = 'signer-attempts-operator.json';
/** A separate signer's socket for its own user and root, who alone reach the wallet's folder. */
export const OPERATOR_SOCKET = 'operator.sock';
/** While it is there nothing is signed. The next signer ends every approval and limit, and removes it. */
export const ENDED_FILE = 'approvals-ended';
