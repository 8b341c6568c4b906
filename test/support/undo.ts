/** Undoes what a test began, the latest first, also after something that cannot be undone: the rest would hold the process, or the next test. */
export async function undoAll(undo: readonly (() => unknown)[]): Promise<void> {
  const thrown: unknown[] = [];
  for (const one of [...undo].reverse()) {
    try {
      await one();
    } catch (error) {
      thrown.push(error);
    }
  }
  if (thrown.length === 1) throw thrown[0];
  if (thrown.length > 1) throw new AggregateError(thrown, 'Several things that a test began could not be ended');
}
