/** The state of the money while foreign addresses stand. The last word of the server is kept, because it is to be switched off then. */
import type { Call } from '../daemon/contract/operator.ts';
import type { Alarm } from '../daemon/contract/signing-machine.ts';
import { signedAround, toldBy } from '../daemon/home/money.ts';
import type { AlarmMoney, MoneyTold } from '../daemon/operator/desktop.ts';

export class Money {
  readonly #folder: string;
  readonly #call: Call;
  #told: { of: string; told: MoneyTold } | null;
  #asking: Promise<void> | null = null;

  /** `folder`: of the wallet here. `call`: asks the server. `former`: of the server whose place it takes. */
  constructor(folder: string, call: Call, former: Money | null = null) {
    this.#folder = folder;
    this.#call = call;
    this.#told = former === null ? null : former.#told;
  }

  /** The word of the server about an alarm; null: it has given none. */
  told(alarm: Alarm): MoneyTold | null {
    return this.#told?.of === nameOf(alarm) ? this.#told.told : null;
  }

  /** Asks the server, unless it is being asked. One that does not answer is no error. */
  ask(alarm: Alarm): Promise<void> {
    this.#asking ??= toldBy(this.#call, alarm, Date.now())
      .then(
        (told) => {
          this.#told = { of: nameOf(alarm), told };
        },
        () => {},
      )
      .finally(() => {
        this.#asking = null;
      });
    return this.#asking;
  }

  async known(alarm: Alarm): Promise<AlarmMoney> {
    return { signed: await signedAround(this.#folder, alarm), told: this.told(alarm) };
  }
}

/** The same while an alarm stands: others are added after its first. */
const nameOf = ({ seen }: Alarm): string => JSON.stringify(seen[0] ?? null);
