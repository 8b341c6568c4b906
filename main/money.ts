/** The state of the money while foreign addresses stand. The last word of the server is kept, because it is to be switched off then. */
import type { Call } from '../daemon/contract/operator.ts';
import type { Alarm } from '../daemon/contract/signing-machine.ts';
import { signedAround, toldBy } from '../daemon/home/money.ts';
import type { AlarmMoney, MoneyTold } from '../daemon/operator/desktop.ts';

export class Money {
  readonly #folder: string;
  readonly #call: Call;
  #told: MoneyTold | null = null;
  #asking: Promise<void> | null = null;

  /** `folder`: of the wallet here. `call`: asks the server. */
  constructor(folder: string, call: Call) {
    this.#folder = folder;
    this.#call = call;
  }

  /** Whether the server has said anything. */
  get isTold(): boolean {
    return this.#told !== null;
  }

  /** Asks the server, unless it is being asked. One that does not answer is no error. */
  ask(alarm: Alarm): Promise<void> {
    this.#asking ??= toldBy(this.#call, alarm, Date.now())
      .then(
        (told) => {
          this.#told = told;
        },
        () => {},
      )
      .finally(() => {
        this.#asking = null;
      });
    return this.#asking;
  }

  /** No foreign address stands any more. */
  forget(): void {
    this.#told = null;
  }

  async known(alarm: Alarm): Promise<AlarmMoney> {
    return { signed: await signedAround(this.#folder, alarm), told: this.#told };
  }
}
