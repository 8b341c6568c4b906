/**
 * Samples of what would take long if all of it were tried in each run: another one each day. COUNTINGHOUSE_TEST_SAMPLE names that
 * of another run, by its number, and COUNTINGHOUSE_TEST_EVERYTHING=1 tries all.
 */
const MS_PER_DAY = 86_400_000;
const { COUNTINGHOUSE_TEST_EVERYTHING, COUNTINGHOUSE_TEST_SAMPLE } = process.env;

const NUMBER = Number(COUNTINGHOUSE_TEST_SAMPLE ?? Math.floor(Date.now() / MS_PER_DAY));
if (!Number.isInteger(NUMBER)) throw new Error(`COUNTINGHOUSE_TEST_SAMPLE=${COUNTINGHOUSE_TEST_SAMPLE} is no number`);

export const EVERYTHING = COUNTINGHOUSE_TEST_EVERYTHING === '1';

/** How to try the same as this run, for the message of what failed. */
export const REPEAT = `the same again: ${
  EVERYTHING ? 'COUNTINGHOUSE_TEST_EVERYTHING=1' : `COUNTINGHOUSE_TEST_SAMPLE=${NUMBER}`
}`;

/** A test whose failure says how to try the same. */
export const repeatable =
  <T>(test: (row: T) => Promise<void>) =>
  (row: T): Promise<void> =>
    test(row).catch((error: unknown) => {
      throw new Error(REPEAT, { cause: error });
    });

/** Whether that place of a list is in the sample of one of so many, which are evenly spread. */
export const isSampled = (at: number, oneOf: number): boolean => EVERYTHING || (at - NUMBER) % oneOf === 0;

/** The sample of one of so many. */
export const sampleOf = <T>(all: readonly T[], oneOf: number): T[] => all.filter((_, at) => isSampled(at, oneOf));
