/** The desktop shell's names and limits in one place. */

/** The scheme of the console's own pages. It is no http, so that nothing of the web has its origin. */
export const SCHEME = 'countinghouse-console';
export const ORIGIN = `${SCHEME}://console`;
/** Links that other programs may open: countinghouse:withdrawals/118. */
export const LINK_SCHEME = 'countinghouse';

/** The channels between the page and this process. */
export const CHANNELS = {
  call: 'countinghouse:call',
  news: 'countinghouse:news',
} as const;

export const LOG_BYTES_MAX = 5 * 1_048_576;
export const RESTART_MS_MIN = 1_000;
export const RESTART_MS_MAX = 60_000;
/** A service that ran this long has recovered: the next restart is quick again. */
export const STEADY_MS = 5 * 60_000;
export const ANSWER_MS = 10_000;
export const LOOK_MS = 2_000;
export const STOP_MS = 25_000;
/** How often it is looked whether a foreign address was seen. */
export const ALARM_LOOK_MS = 3_000;
/** How often it is looked whether the addresses are still compared. */
export const WATCH_LOOK_MS = 9_000;
/** How long an unlocking waits for the process that signs, and how often it looks. */
export const SIGNER_BEGINS_MS = 30_000;
export const SIGNER_LOOK_MS = 250;
