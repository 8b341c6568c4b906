/** `node opener.ts DATA_DIR`: opens the store, says so, and holds it until standard input ends. */
import { Rejected } from '../../../daemon/domain/errors.ts';
import { Store } from '../../../daemon/store/store.ts';

const dataDir = process.argv[2];
if (dataDir === undefined) throw new Error('usage: opener.ts DATA_DIR');
try {
  const store = await Store.open(dataDir);
  console.log('open');
  process.stdin.resume();
  process.stdin.once('end', () => void store.close());
} catch (error) {
  if (!(error instanceof Rejected)) throw error;
  console.log(error.code);
}
