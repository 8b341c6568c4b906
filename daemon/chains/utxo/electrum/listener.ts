/** Whom the light client and its parts tell about events. Each gets the same object when it is made. */
export type Listener = {
  /** Something may have changed. */
  wake(): void;
  log(message: string): void;
  /** A fault of this program, not of a server. */
  bug(error: unknown): void;
  /** A server misbehaved. */
  alert(server: string, reason: string): void;
  /** The payments of a target are not seen, because no server gives its history. Called once for each. */
  leftOut(targetId: number, reason: string): void;
};
