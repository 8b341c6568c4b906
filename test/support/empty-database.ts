/** Leaves in a folder what a start leaves in a new data directory: `node empty-database.ts FOLDER`. */
import { RESERVE_BYTES } from '../../daemon/app/storage.ts';
import { Store } from '../../daemon/store/store.ts';

await (await Store.open(process.argv[2]!, { reserveBytes: RESERVE_BYTES })).close();
