import { expect, it } from 'vitest';
import { undoAll } from '../support/undo.ts';

it('undoes what a test began, also after something that cannot be undone, and tells of that', async () => {
  const undone: number[] = [];
  const failing = (no: number) => async () => {
    undone.push(no);
    throw new Error(`not ${no}`);
  };
  await undoAll([() => undone.push(1), () => undone.push(2)]);
  await expect(undoAll([() => undone.push(3), failing(4), () => undone.push(5)])).rejects.toThrow('not 4');
  expect(undone).toEqual([2, 1, 5, 4, 3]);
  const both = undoAll([failing(6), failing(7), () => undone.push(8)]);
  await expect(both).rejects.toMatchObject({ errors: [{ message: 'not 7' }, { message: 'not 6' }] });
  expect(undone.slice(5)).toEqual([8, 7, 6]);
});
