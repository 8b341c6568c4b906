/** Changes of the files in a server's folder, one at a time. */
import { holdFolder } from '../wallet/signer/holder.ts';

/** By folder: the last change that this process began, since it may hold a folder several times. */
const changes = new Map<string, Promise<unknown>>();

/** Makes a change while no other one is made, here or by another process. Throws as `holdFolder`. */
export function alone<T>(folder: string, change: () => Promise<T>): Promise<T> {
  const held = async (): Promise<T> => {
    const hold = await holdFolder(folder);
    return change().finally(() => hold.release());
  };
  const changed = (changes.get(folder) ?? Promise.resolve()).then(held, held);
  changes.set(folder, changed);
  return changed;
}
