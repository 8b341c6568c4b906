/** Makes and shows the wallet of a server on this computer: what a browser asks the signer for, in this process. */
import type { Call } from '../contract/operator.ts';
import { type Custody, custodyBy } from '../operator/keyholder.ts';
import { carryOutCustody } from '../wallet/signer/custody.ts';
import type { CustodyResult, CustodyTask } from '../wallet/signer/port.ts';
import { keepAccount, keepOthers } from './accounts.ts';
import { walletFolderIn } from './place.ts';

type Parts = {
  /** Of the server. */
  folder: string;
  call: Call;
  /** Slows down the guessing of passphrases. */
  slowed: <T>(make: () => Promise<T>) => Promise<T>;
  /** Opens a backup of the server here, and compares it with the words. */
  drill: Custody['drill'];
  /** Called when a wallet was made. */
  made: () => Promise<void>;
};

/** The public keys of an account stay here, too: the addresses that the server gives to payers are compared with them. */
export function homeCustody({ folder, call, slowed, drill, made }: Parts): Custody {
  const wallet = walletFolderIn(folder);
  const ask = async (task: CustodyTask): Promise<CustodyResult> => {
    if (task.do !== 'create') return slowed(() => carryOutCustody(wallet, task));
    const result = await carryOutCustody(wallet, task);
    await made();
    return result;
  };
  const custody = custodyBy(ask, drill);
  return {
    ...custody,
    accounts: async (passphrase, network, accountNo) => {
      const derived = await custody.accounts(passphrase, network, accountNo);
      const { businesses } = await call('business.list', {});
      await keepOthers(folder, businesses, async (on, no) => (await custody.accounts(passphrase, on, no)).accounts);
      await keepAccount(folder, network, accountNo, derived.accounts);
      return derived;
    },
  };
}
